// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "model/given_names.h"
#include "source/source.h"

namespace offcpu::source::replay {

// The kernel's mapping as the recorder found it: where a symbol of it was.
struct KernelReference {
  std::string symbol;  // "_text"
  uint64_t address = 0;
};

// Who recorded, where. Empty: the recording does not tell.
struct RecordingFacts {
  std::string recorder;  // "recording by perf"
  std::string host;
  std::string kernel_release;
  std::string machine;
  std::string command;
  std::string kernel_build_id;  // raw bytes
  std::optional<KernelReference> kernel_reference;
  std::shared_ptr<const std::string> kallsyms;  // of its kernel; null: none
  bool wakeups = false;                         // sleeping is told from waiting for a CPU
};

// A recording that another program made, as a source of events. Times are those of its own clock.
class Recording : public Source {
 public:
  Result<void> StartSideband() override { return {}; }
  std::vector<int> poll_fds() const override { return {}; }

  // Everything was read: Stop() may follow.
  virtual bool finished() const = 0;
  // A sentence about each kind of damage: what could not be read, or where reading ended before the
  // recording did. Complete after Stop(), whose warnings have them, too.
  virtual std::vector<std::string> Damages() const = 0;
  bool damaged() const { return !Damages().empty(); }
  // After Stop(): why nothing of use was in it, where only its end can tell.
  virtual Result<void> CheckUse() const { return {}; }
  // Right after Start().
  virtual RecordingFacts facts() const = 0;
  // Unix time in nanoseconds of a time of the recording; 0: not known.
  virtual uint64_t RealTimeOf(Nanos) const { return 0; }
  // Of recordings whose frames have names; else null.
  virtual std::shared_ptr<const model::GivenNames> names() const { return nullptr; }
};

// What a recording holds, and whether a profile can be made of it.
struct RecordingInfo {
  struct Event {
    std::string name;
    std::string use;  // "switches", "wake-ups", "call chains", ""; empty: none
    std::string clock;
    uint64_t samples = 0;
  };
  struct Cpu {
    int number = 0;
    uint64_t records = 0;
    Nanos first_ns = 0;  // since the start of the window
    Nanos last_ns = 0;
  };

  std::string format;      // "perf.data, pipe layout, other byte order, compressed"
  std::string written_by;  // version of the recorder
  std::string host;
  std::string kernel;
  std::string machine;
  std::string cpu_description;
  std::string command;
  uint32_t cpus = 0;
  std::vector<std::string> features;
  std::vector<Event> events;
  uint64_t switch_records = 0;
  uint64_t build_ids = 0;
  bool follows_tasks = false;
  Nanos start_ns = 0;  // on the recording's clock
  Nanos window_ns = 0;
  std::vector<Cpu> per_cpu;
  uint64_t lost_events = 0;
  uint64_t lost_samples = 0;
  uint64_t malformed = 0;
  std::vector<std::string> damages;
  std::optional<Error> refusal;  // why no profile can be made of it
};

}  // namespace offcpu::source::replay
