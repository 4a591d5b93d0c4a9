// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "kernel-compat/switch_filter.h"
#include "model/sinks.h"
#include "source/merge.h"
#include "source/perf/attr.h"
#include "source/perf/decode.h"
#include "source/perf/idle_probe.h"
#include "source/perf/lane.h"

namespace offcpu::source::perf {

struct PerfOptions {
  ChainOptions chains;
  kernel_compat::WantedReasons chain_reasons{true, false, false};  // whose switch-outs carry chains
  size_t buffer_bytes = 8U << 20;  // of each CPU's ring; rounded up to a power of two
  bool wakeups = true;
  bool cgroup_moves = false;
  ReadExecStart read_exec_start;  // see idle_probe.h
};

struct PerfCounters {
  DecodeCounters decode;
  uint64_t lost_events = 0;
  uint64_t lost_other = 0;
  uint64_t late_events = 0;
  uint64_t corrupt_bytes = 0;
};

// The `perf` back end: every context switch of every CPU, from raw sched:sched_switch in a ring a
// CPU. Two complementary events share the switches: those whose call chain is wanted carry one, the
// rest do not, so each costs what it must (KF 1). Delivers events in time order (model::EventSink).
class PerfSource {
 public:
  // Opens and maps everything and probes the CPUs, but records nothing yet. Smaller rings are
  // tried when the locked-memory budget does not suffice.
  static Result<std::unique_ptr<PerfSource>> Open(const PerfOptions& options);

  // Enables the records of forks, execs, exits and mappings, so that /proc can be read meanwhile
  // without missing any.
  Result<void> StartSideband();
  // Enables all events. The window starts at the time returned.
  Result<Nanos> Start();
  // Delivers what is ready. To be called when a descriptor of poll_fds() becomes readable, and at
  // least once a second.
  void Drain(model::EventSink& sink);
  // Disables all events and delivers the rest up to the end of the window, which is returned.
  Nanos Stop(model::EventSink& sink);

  // The CPU's idle task turned out to be hidden: switch records tell of the sleepers it wakes.
  Result<void> CoverIdle(model::Cpu cpu);
  // CPUs that were never idle while they were probed. They are covered, which costs something,
  // until a switch from their idle task is seen.
  const std::vector<model::Cpu>& undecided_cpus() const { return undecided_cpus_; }
  void UncoverIdle(model::Cpu cpu);

  std::vector<int> poll_fds() const;
  size_t cpu_count() const { return lanes_.size(); }
  size_t buffer_bytes() const { return buffer_bytes_; }
  std::vector<model::Cpu> covered_cpus() const { return covered_cpus_; }
  std::optional<int64_t> ExecStartOffset(model::Cpu cpu) const;
  PerfCounters counters() const;
  // Sentences for people: smaller rings than asked for, kernel facts that weaken the result...
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  PerfSource() = default;
  PerfSource(const PerfSource&) = delete;

  Result<void> ReadFormats(const PerfOptions& options);
  Result<void> OpenLane(model::Cpu cpu, const PerfOptions& options);
  Result<LaneEvent> OpenSharing(perf_event_attr attr, EventKind kind, model::Cpu cpu, int ring_fd,
                                const std::string& filter);
  Result<PerfRing> MapRing(int fd);
  Result<void> ProbeCpus(const PerfOptions& options);
  Result<void> Enable(EventKind kind);
  void Round(Nanos horizon, model::EventSink& sink);

  kernel_compat::SwitchFormat switch_format_;
  kernel_compat::WakeupFormat wakeup_format_;
  kernel_compat::CgroupAttachFormat cgroup_format_;
  kernel_compat::SwitchFilters filters_;
  bool own_pid_namespace_ = false;
  size_t wanted_buffer_bytes_ = 0;
  size_t buffer_bytes_ = 0;

  MergeState state_;
  std::unique_ptr<Decoder> decoder_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::unique_ptr<Merge<Lane>> merge_;
  Nanos last_round_ = 0;  // the clock before the first head of the round before
  bool started_ = false;

  std::vector<model::Cpu> covered_cpus_;
  std::vector<model::Cpu> undecided_cpus_;
  std::vector<std::optional<int64_t>> exec_start_offsets_;  // by CPU
  std::vector<std::string> warnings_;
};

}  // namespace offcpu::source::perf
