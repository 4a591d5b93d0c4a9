// SPDX-License-Identifier: MIT
#include "source/replay/perf_info.h"

#include <ctime>
#include <utility>

#include <fmt/format.h>

#include "source/replay/perf_replay.h"

namespace offcpu::source::replay {
namespace {

std::string ClockName(const std::optional<int32_t>& clock) {
  if (!clock) return "perf";
  switch (*clock) {
    case CLOCK_MONOTONIC: return "monotonic";
    case CLOCK_MONOTONIC_RAW: return "monotonic_raw";
    case CLOCK_REALTIME: return "realtime";
    case CLOCK_BOOTTIME: return "boottime";
    case CLOCK_TAI: return "tai";
    default: return std::to_string(*clock);
  }
}

std::string UseOf(Role role, bool has_wakeups) {
  switch (role) {
    case Role::kSwitch: return "switches";
    case Role::kBareSwitch: return "none: it has no fields";
    case Role::kWakeup: return "wake-ups";
    case Role::kWaking: return has_wakeups ? "" : "wake-ups";
    case Role::kContextSwitch: return "call chains of switch records";
    case Role::kOther: break;
  }
  return "";
}

std::string FormatOf(const PerfReader& reader) {
  std::string text = reader.file().pipe ? "perf.data, pipe layout" : "perf.data, file layout";
  if (reader.swap()) text += ", the other byte order";
  if (reader.compressed_records() > 0) text += ", compressed";
  return text;
}

void AddEvents(const PerfReader& reader, RecordingInfo* info) {
  const auto& events = reader.events().events();
  const bool has_wakeups = reader.events().Has(Role::kWakeup);
  const auto& samples = reader.seen().samples;
  for (size_t i = 0; i < events.size(); ++i) {
    const auto& described = events[i].described;
    RecordingInfo::Event event;
    event.name = described.name.empty() ? fmt::format("type {} config {:#x}", described.attr.type,
                                                      described.attr.config)
                                        : described.name;
    event.use = UseOf(events[i].role, has_wakeups);
    event.clock = ClockName(described.attr.clock);
    event.samples = i < samples.size() ? samples[i] : 0;
    info->events.push_back(std::move(event));
  }
}

void AddTimes(const PerfSeen& seen, RecordingInfo* info) {
  info->start_ns = seen.first;
  info->window_ns = seen.last - seen.first;
  for (size_t i = 0; i < seen.cpus.size(); ++i) {
    const auto& cpu = seen.cpus[i];
    if (cpu.records == 0) continue;
    info->per_cpu.push_back(
        {static_cast<int>(i), cpu.records, cpu.first - seen.first, cpu.last - seen.first});
  }
}

}  // namespace

RecordingInfo DescribePerf(PerfReader& reader) {
  RecordingInfo info;
  PerfItem item;
  for (;;) {
    const auto read = reader.Next(&item);
    if (!read) info.refusal = read.error();
    if (!read || !*read) break;
  }
  const auto& features = reader.features();
  const auto& seen = reader.seen();
  info.format = FormatOf(reader);
  info.written_by = features.perf_version.empty() ? "perf" : "perf " + features.perf_version;
  info.host = features.host;
  info.kernel = features.release;
  info.machine = features.machine;
  info.cpu_description = features.cpu_description;
  info.command = features.command;
  info.cpus = features.cpus_online;
  for (const uint32_t number : features.numbers) {
    const auto name = FeatureName(number);
    info.features.push_back(name.empty() ? std::to_string(number) : std::string(name));
  }
  AddEvents(reader, &info);
  info.switch_records = seen.switch_in_records + seen.switch_out_records;
  info.build_ids = features.build_ids.size();
  AddTimes(seen, &info);
  info.lost_events = seen.lost_events;
  info.lost_samples = seen.lost_samples;
  info.malformed = seen.malformed;
  info.damages = reader.Damages();
  const auto plan = MakePlan(reader);
  if (plan) {
    info.follows_tasks = plan->per_task;
  } else if (!info.refusal) {
    info.refusal = plan.error();
  }
  return info;
}

}  // namespace offcpu::source::replay
