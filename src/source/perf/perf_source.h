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
#include "source/perf/attr.h"
#include "source/perf/decode.h"
#include "source/perf/idle_probe.h"
#include "source/perf/lane_set.h"
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
  void Drain(model::EventSink& sink) override { lanes_->Drain(sink); }
  Nanos Stop(model::EventSink& sink) override;

  std::vector<int> poll_fds() const override { return lanes_->poll_fds(); }
  size_t cpu_count() const override { return lanes_->lanes().size(); }
  std::vector<Note> notes() const override;

  Result<void> CoverIdle(model::Cpu cpu) override;
  // CPUs that were never idle while they were probed.
  std::vector<model::Cpu> undecided_cpus() const override { return undecided_cpus_; }
  void UncoverIdle(model::Cpu cpu) override;
  std::vector<model::Cpu> covered_cpus() const override { return covered_cpus_; }
  std::optional<int64_t> ExecStartOffset(model::Cpu cpu) const override;

 private:
  PerfSource() = default;
  static Result<std::unique_ptr<PerfSource>> OpenLanes(const Request& request, bool switches);

  Result<void> ReadFormats(const Request& options);
  void SetDecoder(DecodeOptions options);
  Result<void> AddEvents(Lane& lane, const Request& options);
  Result<void> AddEvent(Lane& lane, perf_event_attr attr, EventKind kind,
                        const std::string& filter);
  Result<void> ProbeCpus(const Request& options);

  kernel_compat::SwitchFormat switch_format_;
  kernel_compat::WakeupFormat wakeup_format_;
  kernel_compat::CgroupAttachFormat cgroup_format_;
  kernel_compat::SwitchFilters filters_;
  bool own_pid_namespace_ = false;

  std::unique_ptr<Decoder> decoder_;
  std::unique_ptr<LaneSet> lanes_;
  bool started_ = false;

  std::vector<model::Cpu> covered_cpus_;
  std::vector<model::Cpu> undecided_cpus_;
  std::vector<std::optional<int64_t>> exec_start_offsets_;  // by CPU
};

}  // namespace offcpu::source::perf
