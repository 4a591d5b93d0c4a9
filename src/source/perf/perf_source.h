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
#include "source/source.h"

namespace offcpu::source::perf {

// The `perf` back end: every context switch of every CPU, from raw sched:sched_switch in a ring a
// CPU. Two complementary events share the switches: those whose call chain is wanted carry one, the
// rest do not, so each costs what it must (KF 1). Delivers events in time order (model::EventSink).
class PerfSource : public Source {
 public:
  // Probes the CPUs, too. Smaller rings are tried when the locked-memory budget does not suffice.
  static Result<std::unique_ptr<Source>> Open(const Request& request);

  // Forks, execs, exits and mappings alone, for back ends that learn of switches elsewhere.
  static Result<std::unique_ptr<PerfSource>> OpenSideband(size_t buffer_bytes);

  Result<void> StartSideband() override;
  Result<Nanos> Start() override;
  void Drain(model::EventSink& sink) override;
  Nanos Stop(model::EventSink& sink) override;

  std::vector<int> poll_fds() const override;
  size_t cpu_count() const override { return lanes_.size(); }
  std::vector<Note> notes() const override;

  Result<void> CoverIdle(model::Cpu cpu) override;
  // CPUs that were never idle while they were probed.
  std::vector<model::Cpu> undecided_cpus() const override { return undecided_cpus_; }
  void UncoverIdle(model::Cpu cpu) override;
  std::vector<model::Cpu> covered_cpus() const override { return covered_cpus_; }
  std::optional<int64_t> ExecStartOffset(model::Cpu cpu) const override;

  size_t buffer_bytes() const { return buffer_bytes_; }

 private:
  PerfSource() = default;
  static Result<std::unique_ptr<PerfSource>> OpenLanes(const Request& request, bool switches);

  Result<void> ReadFormats(const Request& options);
  Result<void> OpenLane(model::Cpu cpu, const Request& options, bool switches);
  Result<LaneEvent> OpenSharing(perf_event_attr attr, EventKind kind, model::Cpu cpu, int ring_fd,
                                const std::string& filter);
  Result<PerfRing> MapRing(int fd);
  Result<void> ProbeCpus(const Request& options);
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
};

}  // namespace offcpu::source::perf
