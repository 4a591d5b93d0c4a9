// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/sinks.h"
#include "process/process_table.h"
#include "process/stack_table.h"
#include "profile/builder.h"
#include "profile/profile.h"
#include "record/follower.h"
#include "record/interval_keeper.h"
#include "record/options.h"
#include "record/symbol_worker.h"
#include "sched/tracker.h"
#include "unwind/copied_stacks.h"

namespace offcpu::record {

// One recording, from events to a profile: joins process table, tracker, stacks, symbols and
// builder. It knows no back end, so recorded events can be fed in as well as live ones.
class Session : public model::EventSink, public model::IntervalSink {
 public:
  explicit Session(const Options& options);

  Follower& follower() { return follower_; }

  // The source delivers events from `time` on. For a command the window begins later, at its exec.
  void Begin(Nanos time);
  // Reads the state of the threads that exist; after Begin().
  void SeedExistingThreads();

  void OnSwitch(const model::Switch& event) override;
  void OnSwitchIn(const model::SwitchIn& event) override;
  void OnWakeup(const model::Wakeup& event) override;
  void OnFork(const model::Fork& event) override;
  void OnCommChange(const model::CommChange& event) override;
  void OnExit(const model::Exit& event) override;
  void OnMap(const model::Map& event) override;
  void OnCgroupMove(const model::CgroupMove& event) override;
  void OnLoss(const model::Loss& loss) override;
  void OnHandOver(const model::HandOver& event) override;
  void OnTrackedInterval(const model::TrackedInterval& tracked) override;
  void OnTrackedAccount(const model::TrackedAccount& tracked) override;
  void OnTrackedLoss(const model::Loss& loss) override;

  void OnInterval(const model::Interval& interval) override;

  // Hands what is new to the symbolize thread; after each drain.
  void Flush();
  // Takes in processes that moved into the cgroup unseen.
  void RescanCgroup();

  bool window_open() const { return window_open_; }
  // All followed processes have ended.
  bool TargetEnded() const;
  std::vector<model::Cpu> TakeIdleBreaks() { return tracker_.TakeIdleBreaks(); }
  bool IdleSeen(model::Cpu cpu) const { return tracker_.IdleSeen(cpu); }
  const sched::TrackerCounters& counters() const { return tracker_.counters(); }
  uint64_t lost_events() const { return lost_events_; }

  // Ends the window and makes the profile. `frame` brings origin, notes and warnings of the source.
  // `exec_start_offset` translates a thread's se.exec_start by the CPU it ran last on.
  using ExecStartOffset = std::function<std::optional<int64_t>(model::Cpu)>;
  profile::Profile Finish(Nanos window_end, profile::Profile frame,
                          const ExecStartOffset& exec_start_offset);

 private:
  void OpenWindow(Nanos time);
  void Seed(model::Pid pid, model::Tid tid, Nanos born);
  bool TellsOfThePast(Nanos time) const { return !options_.live && time < begin_; }
  void SeedRecorded(model::Pid pid, model::Tid tid, const model::Comm& comm, bool kernel_thread);
  void AdoptProcess(model::Pid pid, Nanos time);
  void OnExec(const model::CommChange& event);
  void Keep(model::Interval interval);
  void NoteLoss(const model::Loss& loss);
  void KeepLeftOpen(const ExecStartOffset& exec_start_offset);
  std::vector<profile::ThreadInput> Threads() const;
  void AddLosses(profile::Profile* profile, Nanos window_end) const;
  void AddNotes(profile::Profile* profile) const;

  const Options options_;
  process::ProcessTable processes_;
  process::StackTable stacks_;
  unwind::CopiedStacks copied_stacks_;  // of recordings that have such
  Follower follower_;
  IntervalKeeper keeper_;
  SymbolWorker worker_;
  std::optional<profile::Builder> builder_;
  sched::Tracker tracker_;

  Nanos begin_ = 0;  // events before it are not looked at
  bool window_open_ = false;
  std::vector<Newcomer> newcomers_;
  std::vector<model::Cpu> seed_cpus_;       // by ThreadRow; -1: unknown
  std::vector<model::Interval> left_open_;  // kept back until /proc's answers are in
  std::vector<model::Loss> losses_;
  uint64_t lost_events_ = 0;
  uint64_t losses_not_kept_ = 0;
};

}  // namespace offcpu::record
