// SPDX-License-Identifier: MIT
#include "source/perf/perf_source.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "source/host.h"
#include "source/limits.h"
#include "source/tracefs_files.h"

namespace offcpu::source::perf {
namespace {

constexpr size_t kMinBufferBytes = 8192;
constexpr size_t kEventsPerCpu = 6;

}  // namespace

Result<std::unique_ptr<Source>> PerfSource::Open(const Request& options) {
  auto source = OpenLanes(options, /*switches=*/true);
  if (!source) return source.error();
  if (auto probed = (*source)->ProbeCpus(options); !probed) return probed.error();
  return std::unique_ptr<Source>(std::move(*source));
}

Result<std::unique_ptr<PerfSource>> PerfSource::OpenSideband(size_t buffer_bytes) {
  Request request;
  request.buffer_bytes = buffer_bytes;
  return OpenLanes(request, /*switches=*/false);
}

Result<std::unique_ptr<PerfSource>> PerfSource::OpenLanes(const Request& options, bool switches) {
  auto cpus = OnlineCpus();
  if (!cpus) return cpus.error();
  if (auto enough = EnsureDescriptors(cpus->size() * kEventsPerCpu); !enough) return enough.error();

  std::unique_ptr<PerfSource> source(new PerfSource);
  source->own_pid_namespace_ = InOwnPidNamespace();
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  source->wanted_buffer_bytes_ = std::bit_ceil(std::max(options.buffer_bytes, page));
  source->buffer_bytes_ = source->wanted_buffer_bytes_;
  if (switches) {
    if (auto formats = source->ReadFormats(options); !formats) return formats.error();
  } else {
    source->decoder_ = std::make_unique<Decoder>(DecodeOptions{});
    source->state_.decoder = source->decoder_.get();
  }
  for (model::Cpu cpu : *cpus) {
    if (auto opened = source->OpenLane(cpu, options, switches); !opened) return opened.error();
  }
  if (source->lanes_.empty()) {
    return MakeError(ErrorCode::kUnsupported, "no CPU is online according to sysfs");
  }
  std::vector<Lane*> lanes;
  for (const auto& lane : source->lanes_) lanes.push_back(lane.get());
  source->merge_ = std::make_unique<Merge<Lane>>(std::move(lanes));
  return source;
}

Result<void> PerfSource::ReadFormats(const Request& options) {
  auto files = TracefsFiles::Find();
  if (!files) return files.error();
  auto text = files->ReadFormat("sched", "sched_switch");
  if (!text) return text.error();
  auto format = kernel_compat::ParseSwitchFormat(*text, RunningRelease());
  if (!format) return format.error();
  switch_format_ = *format;
  if (!switch_format_.states.has_preempt_mark()) {
    warnings_.push_back("this kernel does not mark preemption: preempted shows as runnable");
  }
  if (options.wakeups) {
    text = files->ReadFormat("sched", "sched_wakeup");
    if (!text) return text.error();
    auto wakeup = kernel_compat::ParseWakeupFormat(*text, "sched_wakeup");
    if (!wakeup) return wakeup.error();
    wakeup_format_ = *wakeup;
  }
  if (options.cgroup_moves) {
    text = files->ReadFormat("cgroup", "cgroup_attach_task");
    if (!text) return text.error();
    auto cgroup = kernel_compat::ParseCgroupAttachFormat(*text);
    if (!cgroup) return cgroup.error();
    cgroup_format_ = *cgroup;
  }
  if (options.chains.any()) {
    filters_ = kernel_compat::MakeSwitchFilters(switch_format_.states, options.chain_reasons);
  }
  const auto max_stack = ChooseMaxStack(options.chains.max_stack);
  if (!max_stack) return max_stack.error();
  DecodeOptions decode{switch_format_, wakeup_format_, cgroup_format_, *max_stack,
                       own_pid_namespace_};
  decoder_ = std::make_unique<Decoder>(std::move(decode));
  state_.decoder = decoder_.get();
  return {};
}

Result<LaneEvent> PerfSource::OpenSharing(perf_event_attr attr, EventKind kind, model::Cpu cpu,
                                          int ring_fd, const std::string& filter) {
  LaneEvent event;
  event.kind = kind;
  auto fd = OpenEvent(&attr, cpu);
  if (!fd) return fd.error();
  event.fd = std::move(*fd);
  event.attr = attr;
  if (!filter.empty() && ::ioctl(event.fd.get(), PERF_EVENT_IOC_SET_FILTER, filter.c_str()) != 0) {
    return SystemError("set the filter '" + filter + "' on CPU " + std::to_string(cpu));
  }
  if (::ioctl(event.fd.get(), PERF_EVENT_IOC_SET_OUTPUT, ring_fd) != 0) {
    return SystemError("share the perf ring of CPU " + std::to_string(cpu));
  }
  auto id = EventId(event.fd.get());
  if (!id) return id.error();
  event.id = *id;
  return event;
}

// The locked-memory budget is kernel.perf_event_mlock_kb a CPU plus one RLIMIT_MEMLOCK for all, and
// other profilers of the same user draw on it too; so the size is found by trying.
Result<PerfRing> PerfSource::MapRing(int fd) {
  for (;;) {
    auto ring = PerfRing::Map(fd, buffer_bytes_);
    const bool over_budget = !ring && ring.error().code == ErrorCode::kPermission;
    if (!over_budget || buffer_bytes_ <= kMinBufferBytes) {
      if (ring) return ring;
      return ring.error().WithHint(
          "raise kernel.perf_event_mlock_kb or ulimit -l, or ask for less with --buffer-size");
    }
    buffer_bytes_ /= 2;
  }
}

Result<void> PerfSource::OpenLane(model::Cpu cpu, const Request& options, bool switches) {
  // Wakes the reader when a quarter is full, which leaves it three quarters of time.
  perf_event_attr sideband_attr =
      SidebandAttr(static_cast<uint32_t>(std::min<size_t>(buffer_bytes_ / 4, 1U << 20)));
  auto fd = OpenEvent(&sideband_attr, cpu);
  if (!fd) {
    if (errno == ENODEV) return {};  // went offline since the list was read
    return fd.error();
  }
  std::vector<LaneEvent> events;
  events.push_back({std::move(*fd), sideband_attr, 0, EventKind::kSideband});
  const int ring_fd = events.front().fd.get();
  auto id = EventId(ring_fd);
  if (!id) return id.error();
  events.front().id = *id;
  auto ring = MapRing(ring_fd);
  if (!ring) return ring.error();

  struct Wanted {
    bool wanted;
    uint64_t id;
    const ChainOptions* chains;
    EventKind kind;
    std::string filter;
  };
  const Wanted wanted[] = {
      {!filters_.stack.empty(), switch_format_.id, &options.chains, EventKind::kStackSwitch,
       filters_.stack},
      {true, switch_format_.id, nullptr, EventKind::kPlainSwitch, filters_.rest},
      {options.wakeups, wakeup_format_.id, nullptr, EventKind::kWakeup, ""},
      {options.cgroup_moves, cgroup_format_.id, nullptr, EventKind::kCgroupAttach, ""},
  };
  for (const Wanted& each : wanted) {
    if (!each.wanted || !switches) continue;
    auto event =
        OpenSharing(TracepointAttr(each.id, each.chains), each.kind, cpu, ring_fd, each.filter);
    if (!event) return event.error();
    events.push_back(std::move(*event));
  }
  LossReader read_lost;
  if ((events.front().attr.read_format & PERF_FORMAT_LOST) != 0) {
    read_lost = [](const LaneEvent& event) { return ReadLost(event.fd.get()); };
  }
  lanes_.push_back(std::make_unique<Lane>(cpu, std::move(*ring), std::move(events), state_,
                                          std::move(read_lost)));
  return {};
}

Result<void> PerfSource::ProbeCpus(const Request& options) {
  if (buffer_bytes_ < wanted_buffer_bytes_) {
    warnings_.push_back(
        fmt::format("rings of {} KiB a CPU instead of {} KiB: the locked-memory budget is used up "
                    "(kernel.perf_event_mlock_kb, ulimit -l)",
                    buffer_bytes_ / 1024, wanted_buffer_bytes_ / 1024));
  }
  std::vector<model::Cpu> hidden;
  for (const auto& lane : lanes_) {
    // Tracepoints can't name threads of our namespace as the next one; only switch records can.
    if (own_pid_namespace_) {
      hidden.push_back(lane->cpu());
      continue;
    }
    auto probe = ProbeCpu(lane->cpu(), switch_format_, options.read_exec_start);
    if (!probe) return probe.error();
    const auto cpu = static_cast<size_t>(lane->cpu());
    if (exec_start_offsets_.size() <= cpu) exec_start_offsets_.resize(cpu + 1);
    exec_start_offsets_[cpu] = probe->exec_start_offset;
    if (probe->idle != IdleVisibility::kVisible) hidden.push_back(lane->cpu());
    if (probe->idle == IdleVisibility::kUndecided) undecided_cpus_.push_back(lane->cpu());
  }
  for (model::Cpu cpu : hidden) {
    if (auto covered = CoverIdle(cpu); !covered) return covered.error();
  }
  return {};
}

Result<void> PerfSource::CoverIdle(model::Cpu cpu) {
  if (std::find(covered_cpus_.begin(), covered_cpus_.end(), cpu) != covered_cpus_.end()) return {};
  for (const auto& lane : lanes_) {
    if (lane->cpu() != cpu) continue;
    auto event =
        OpenSharing(SwitchRecordsAttr(), EventKind::kSwitchRecords, cpu, lane->poll_fd(), "");
    if (!event) return event.error();
    if (started_ && ::ioctl(event->fd.get(), PERF_EVENT_IOC_ENABLE, 0) != 0) {
      return SystemError("enable switch records on CPU " + std::to_string(cpu));
    }
    lane->events().push_back(std::move(*event));
    covered_cpus_.push_back(cpu);
  }
  return {};
}

void PerfSource::UncoverIdle(model::Cpu cpu) {
  std::erase(undecided_cpus_, cpu);
  std::erase(covered_cpus_, cpu);
  for (const auto& lane : lanes_) {
    if (lane->cpu() != cpu) continue;
    std::erase_if(lane->events(),
                  [](const LaneEvent& event) { return event.kind == EventKind::kSwitchRecords; });
  }
}

Result<void> PerfSource::Enable(EventKind kind) {
  for (const auto& lane : lanes_) {
    for (const LaneEvent& event : lane->events()) {
      if (event.kind != kind) continue;
      if (::ioctl(event.fd.get(), PERF_EVENT_IOC_ENABLE, 0) != 0) {
        return SystemError("enable perf events on CPU " + std::to_string(lane->cpu()));
      }
    }
  }
  return {};
}

Result<void> PerfSource::StartSideband() { return Enable(EventKind::kSideband); }

Result<Nanos> PerfSource::Start() {
  for (const EventKind kind :
       {EventKind::kCgroupAttach, EventKind::kSwitchRecords, EventKind::kWakeup,
        EventKind::kPlainSwitch, EventKind::kStackSwitch}) {
    if (auto enabled = Enable(kind); !enabled) return enabled.error();
  }
  started_ = true;
  return MonotonicNow();
}

void PerfSource::Round(Nanos horizon, model::EventSink& sink) {
  state_.sink = &sink;
  for (const auto& lane : lanes_) lane->TakeHead();
  merge_->Run(horizon);
  for (const auto& lane : lanes_) lane->Release();
}

void PerfSource::Drain(model::EventSink& sink) {
  // Any event older than the clock before the first head of the previous round is visible now (KF
  // 5).
  const Nanos now = MonotonicNow();
  Round(last_round_, sink);
  last_round_ = now;
}

Nanos PerfSource::Stop(model::EventSink& sink) {
  const Nanos end = MonotonicNow();
  for (const auto& lane : lanes_) {
    for (const LaneEvent& event : lane->events()) {
      ::ioctl(event.fd.get(), PERF_EVENT_IOC_DISABLE, 0);
    }
  }
  started_ = false;
  // A disabled event writes no more, so everything up to `end` is in the rings.
  Round(end, sink);
  for (const auto& lane : lanes_) lane->FinishLosses(end);
  return end;
}

std::vector<int> PerfSource::poll_fds() const {
  std::vector<int> fds;
  for (const auto& lane : lanes_) fds.push_back(lane->poll_fd());
  return fds;
}

std::optional<int64_t> PerfSource::ExecStartOffset(model::Cpu cpu) const {
  const auto at = static_cast<size_t>(cpu);
  return cpu >= 0 && at < exec_start_offsets_.size() ? exec_start_offsets_[at] : std::nullopt;
}

std::vector<Note> PerfSource::notes() const {
  LaneCounters lanes;
  for (const auto& lane : lanes_) {
    lanes.lost_other += lane->counters().lost_other;
    lanes.late_events += lane->counters().late_events;
    lanes.corrupt_bytes += lane->counters().corrupt_bytes;
  }
  const DecodeCounters& decode = decoder_->counters();
  return {{"events", decode.events},
          {"malformed_records", decode.malformed},
          {"late_events", lanes.late_events},
          {"lost_other_events", lanes.lost_other},
          {"corrupt_bytes", lanes.corrupt_bytes},
          {"covered_cpus", covered_cpus_.size()},
          {"buffer_bytes_per_cpu", buffer_bytes_}};
}

}  // namespace offcpu::source::perf
