// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/result.h"
#include "source/perf/lane_set.h"
#include "source/perf/switch_decode.h"
#include "source/source.h"

namespace offcpu::source::perf {

// What the kernel lets this user open (kernel.perf_event_paranoid, CAP_PERFMON).
struct SwitchRights {
  bool all_threads = false;   // events of whole CPUs; else of one's own threads only
  bool kernel_stacks = true;  // false: no call chains at all, the switch is the kernel's doing
};

// Finds out by opening events. kUnsupported before Linux 4.17, whose records do not tell who was
// still runnable; kPermission when not even one's own threads may be looked at.
Result<SwitchRights> ProbeSwitchRights(model::Cpu cpu);

// The `switch` back end: PERF_RECORD_SWITCH and call chains of one software event per CPU, or per
// thread and CPU where whole CPUs are refused. Needs no tracefs, and of one's own threads no
// privilege. Tells blocked from runnable by the record's preempt bit, and nothing more of the
// state.
class SwitchSource : public Source {
 public:
  static Result<std::unique_ptr<Source>> Open(const Request& request);

  Result<void> StartSideband() override;
  Result<Nanos> Start() override { return MonotonicNow(); }
  void Drain(model::EventSink& sink) override { lanes_->Drain(sink); }
  Nanos Stop(model::EventSink& sink) override { return lanes_->Stop(sink); }

  std::vector<int> poll_fds() const override { return lanes_->poll_fds(); }
  size_t cpu_count() const override { return lanes_->lanes().size(); }
  std::vector<Note> notes() const override;

 private:
  SwitchSource() = default;

  Result<void> OpenRings(const std::vector<model::Cpu>& cpus, const Request& request);
  Result<void> OpenCpus();
  Result<void> OpenThreads(const Request& request);
  Result<void> OpenThread(model::Tid tid);
  void Warn(const Request& request);

  SwitchRights rights_;
  perf_event_attr attr_{};
  std::unique_ptr<SwitchDecoder> decoder_;
  std::unique_ptr<LaneSet> lanes_;
  std::set<model::Tid> threads_;  // that events were opened for
};

}  // namespace offcpu::source::perf
