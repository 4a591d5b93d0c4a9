// SPDX-License-Identifier: MIT
#include "source/perf/perf_source.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "source/host.h"
#include "source/limits.h"
#include "source/tracefs_files.h"

namespace offcpu::source::perf {
namespace {

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
  if (switches) {
    if (auto formats = source->ReadFormats(options); !formats) return formats.error();
  } else {
    source->SetDecoder(DecodeOptions{});
  }
  auto opened = source->lanes_->Open(
      *cpus, options.buffer_bytes, [](model::Cpu cpu, uint32_t wakeup_bytes, int* error_number) {
        return OpenLaneEvent(SidebandAttr(wakeup_bytes), EventKind::kSideband, {.cpu = cpu},
                             error_number);
      });
  if (!opened) return opened.error();
  if (!switches) return source;
  for (const auto& lane : source->lanes_->lanes()) {
    if (auto added = source->AddEvents(*lane, options); !added) return added.error();
  }
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
  SetDecoder({switch_format_, wakeup_format_, cgroup_format_, *max_stack, own_pid_namespace_});
  return {};
}

void PerfSource::SetDecoder(DecodeOptions options) {
  decoder_ = std::make_unique<Decoder>(std::move(options));
  lanes_ = std::make_unique<LaneSet>(*decoder_);
}

Result<void> PerfSource::AddEvent(Lane& lane, perf_event_attr attr, EventKind kind,
                                  const std::string& filter) {
  auto event = OpenLaneEvent(attr, kind, {.cpu = lane.cpu()});
  if (!event) return event.error();
  if (!filter.empty() && ::ioctl(event->fd.get(), PERF_EVENT_IOC_SET_FILTER, filter.c_str()) != 0) {
    return SystemError("set the filter '" + filter + "' on CPU " + std::to_string(lane.cpu()));
  }
  return LaneSet::Join(lane, std::move(*event));
}

Result<void> PerfSource::AddEvents(Lane& lane, const Request& options) {
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
    if (!each.wanted) continue;
    auto added = AddEvent(lane, TracepointAttr(each.id, each.chains), each.kind, each.filter);
    if (!added) return added;
  }
  return {};
}

Result<void> PerfSource::ProbeCpus(const Request& options) {
  if (auto warning = lanes_->BudgetWarning()) warnings_.push_back(std::move(*warning));
  std::vector<model::Cpu> hidden;
  for (const auto& lane : lanes_->lanes()) {
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
  Lane* lane = lanes_->Find(cpu);
  if (lane == nullptr) return {};
  auto added = AddEvent(*lane, SwitchRecordsAttr(), EventKind::kSwitchRecords, "");
  if (!added) return added;
  if (started_ && ::ioctl(lane->events().back().fd.get(), PERF_EVENT_IOC_ENABLE, 0) != 0) {
    return SystemError("enable switch records on CPU " + std::to_string(cpu));
  }
  covered_cpus_.push_back(cpu);
  return {};
}

void PerfSource::UncoverIdle(model::Cpu cpu) {
  std::erase(undecided_cpus_, cpu);
  std::erase(covered_cpus_, cpu);
  if (Lane* lane = lanes_->Find(cpu)) {
    std::erase_if(lane->events(),
                  [](const LaneEvent& event) { return event.kind == EventKind::kSwitchRecords; });
  }
}

Result<void> PerfSource::StartSideband() { return lanes_->Enable(EventKind::kSideband); }

Result<Nanos> PerfSource::Start() {
  for (const EventKind kind :
       {EventKind::kCgroupAttach, EventKind::kSwitchRecords, EventKind::kWakeup,
        EventKind::kPlainSwitch, EventKind::kStackSwitch}) {
    if (auto enabled = lanes_->Enable(kind); !enabled) return enabled.error();
  }
  started_ = true;
  return MonotonicNow();
}

Nanos PerfSource::Stop(model::EventSink& sink) {
  started_ = false;
  const Nanos end = lanes_->Stop(sink);
  if (const uint64_t malformed = decoder_->counters().malformed; malformed > 0) {
    warnings_.push_back(fmt::format(
        "{} records were refused: they are not of the form that the kernel describes in "
        "events/sched/sched_switch/format and its neighbours",
        malformed));
  }
  return end;
}

std::optional<int64_t> PerfSource::ExecStartOffset(model::Cpu cpu) const {
  const auto at = static_cast<size_t>(cpu);
  return cpu >= 0 && at < exec_start_offsets_.size() ? exec_start_offsets_[at] : std::nullopt;
}

std::vector<Note> PerfSource::notes() const {
  const DecodeCounters& decode = decoder_->counters();
  std::vector<Note> notes = {{"events", decode.events}, {"malformed_records", decode.malformed}};
  lanes_->AddNotes(&notes);
  notes.push_back({"covered_cpus", covered_cpus_.size()});
  return notes;
}

}  // namespace offcpu::source::perf
