// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "profile/interner.h"
#include "profile/profile.h"
#include "record/options.h"
#include "record/sample_clock.h"
#include "record/sampled_account.h"
#include "record/sampled_places.h"
#include "record/sampled_target.h"
#include "record/thread_files.h"

namespace offcpu::record {

// A recording by the `proc` back end: no events, but looks at the target's threads in /proc, from
// Begin() to Finish(). Each look reads a thread's counters; the costly files tell where it sleeps,
// and are left alone while it has not run. Of many busy threads only every n-th is looked at, in
// turns, so that the recorder keeps below kMaxShare of a CPU.
class SampledSession {
 public:
  explicit SampledSession(const Options& options);
  ~SampledSession();

  // The window begins: finds the threads and takes their first counters.
  Result<void> Begin();
  // Readable when it is time for Sample().
  int poll_fd() const { return clock_.fd(); }
  void Sample();
  // All threads of the target have ended.
  bool TargetEnded() const;
  uint64_t samples() const { return samples_; }

  // Ends the window and makes the profile. `frame` brings the origin.
  profile::Profile Finish(profile::Profile frame);

 private:
  struct Watched;
  enum class Depth { kIfChanged, kAlways };

  void Scan();
  void Watch(const SampledTarget::Thread& found, Nanos scanned_before);
  bool Refresh(Watched& thread, Depth depth);
  bool Look(Watched& thread, Depth depth);
  void FindPlace(Watched& thread);
  void ReadSwitches(Watched& thread);
  void Settle();
  void LimitCost(Nanos now);
  profile::Thread AccountOf(const Watched& thread) const;
  void AddThread(const Watched& thread, profile::Profile* profile, profile::Interner* names) const;
  void AddNotes(profile::Profile* profile) const;
  void AddWarnings(profile::Profile* profile) const;

  const Options options_;
  const bool stacks_;  // /proc/TID/stack is readable
  SampledTarget target_;
  SampleClock clock_;
  SampledPlaces places_;
  std::vector<std::unique_ptr<Watched>> threads_;  // element 0 is a placeholder
  std::vector<Watched*> alive_;
  std::unordered_map<model::Tid, Watched*> by_tid_;
  struct Process {
    std::string name;
    bool native = true;  // its system calls have the numbers of this program's
  };
  std::unordered_map<model::Pid, Process> processes_;
  Nanos begin_ = 0;
  Nanos scanned_ = 0;
  uint64_t turn_ = 0;
  uint32_t stride_ = 1;  // every how many-th thread is looked at
  Nanos cost_since_ = 0;
  Nanos cost_ = 0;  // CPU time used since then
  uint64_t samples_ = 0;
  uint64_t spared_ = 0;
  uint64_t unplaced_ = 0;
  uint64_t torn_ = 0;
  size_t descriptors_ = 0;  // that may still be opened
  uint64_t not_watched_ = 0;
};

}  // namespace offcpu::record
