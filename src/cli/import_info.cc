// SPDX-License-Identifier: MIT
#include "cli/import_info.h"

#include <ctime>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "output/json.h"
#include "output/terminal.h"
#include "output/text_table.h"
#include "source/replay/open.h"
#include "source/replay/perf_replay.h"

namespace offcpu::cli {
namespace {

using source::replay::EventTable;
using source::replay::PerfReader;
using source::replay::Role;

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

void AddEvents(const PerfReader& reader, ImportInfo* info) {
  const auto& events = reader.events().events();
  const bool has_wakeups = reader.events().Has(Role::kWakeup);
  const auto& samples = reader.seen().samples;
  for (size_t i = 0; i < events.size(); ++i) {
    const auto& described = events[i].described;
    ImportInfo::Event event;
    event.name = described.name.empty() ? fmt::format("type {} config {:#x}", described.attr.type,
                                                      described.attr.config)
                                        : described.name;
    event.use = UseOf(events[i].role, has_wakeups);
    event.clock = ClockName(described.attr.clock);
    event.samples = i < samples.size() ? samples[i] : 0;
    info->events.push_back(std::move(event));
  }
}

void AddTimes(const source::replay::PerfSeen& seen, ImportInfo* info) {
  info->start_ns = seen.first;
  info->window_ns = seen.last - seen.first;
  for (size_t i = 0; i < seen.cpus.size(); ++i) {
    const auto& cpu = seen.cpus[i];
    if (cpu.records == 0) continue;
    info->per_cpu.push_back(
        {static_cast<int>(i), cpu.records, cpu.first - seen.first, cpu.last - seen.first});
  }
}

std::string Row(const char* name, const std::string& value) {
  return fmt::format("  {:<18} {}\n", name, value.empty() ? "-" : output::Printable(value));
}

using Align = output::TextTable::Align;

std::string EventsText(const ImportInfo& info) {
  output::TextTable table({{""},
                           {"EVENT", Align::kLeft},
                           {"SAMPLES"},
                           {"CLOCK", Align::kLeft},
                           {"USED FOR", Align::kLeft}});
  for (const ImportInfo::Event& event : info.events) {
    table.AddRow({"", output::Printable(event.name), std::to_string(event.samples), event.clock,
                  event.use.empty() ? "-" : event.use});
  }
  return table.Render();
}

std::string CpusText(const ImportInfo& info) {
  output::TextTable table({{""}, {"CPU"}, {"RECORDS"}, {"FIRST"}, {"LAST"}});
  for (const ImportInfo::Cpu& cpu : info.per_cpu) {
    table.AddRow({"", std::to_string(cpu.number), std::to_string(cpu.records),
                  output::FormatDuration(cpu.first_ns), output::FormatDuration(cpu.last_ns)});
  }
  return table.Render();
}

}  // namespace

Result<ImportInfo> ReadImportInfo(const std::string& path) {
  auto opened = source::replay::OpenReader(path);
  if (!opened) return opened.error();
  PerfReader& reader = **opened;
  ImportInfo info;
  source::replay::PerfItem item;
  for (;;) {
    const auto read = reader.Next(&item);
    if (!read) info.refusal = read.error();
    if (!read || !*read) break;
  }
  const auto& features = reader.features();
  const auto& seen = reader.seen();
  info.file = path;
  info.format = FormatOf(reader);
  info.written_by = features.perf_version;
  info.host = features.host;
  info.kernel = features.release;
  info.machine = features.machine;
  info.cpu_description = features.cpu_description;
  info.command = features.command;
  info.cpus = features.cpus_online;
  for (const uint32_t number : features.numbers) {
    const auto name = source::replay::FeatureName(number);
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
  const auto plan = source::replay::MakePlan(reader);
  if (plan) {
    info.follows_tasks = plan->per_task;
  } else if (!info.refusal) {
    info.refusal = plan.error();
  }
  return info;
}

std::string ImportInfoText(const ImportInfo& info) {
  std::string text = "Use\n";
  if (info.refusal) {
    text += Row("refused", info.refusal->message);
    text += Row("hint", info.refusal->hint);
  } else {
    text += Row("profile", info.follows_tasks ? "can be made, of the tasks that were followed"
                                              : "can be made, of whole CPUs");
  }
  for (const std::string& damage : info.damages) text += Row("damaged", damage);
  text += Row("lost events", std::to_string(info.lost_events));
  text += Row("lost samples", std::to_string(info.lost_samples));
  text += Row("malformed", std::to_string(info.malformed));
  text += "\nRecording\n";
  text += Row("format", info.format);
  text += Row("perf", info.written_by);
  text += Row("command", info.command);
  text += Row("host", info.host);
  text += Row("kernel", info.kernel);
  text += Row("machine", info.machine);
  text += Row("CPUs", info.cpus == 0 ? "" : std::to_string(info.cpus));
  text += Row("processor", info.cpu_description);
  text += Row("window", output::FormatDuration(info.window_ns));
  text += Row("switch records", std::to_string(info.switch_records));
  text += Row("build-ids", std::to_string(info.build_ids));
  text += Row("features", fmt::format("{}", fmt::join(info.features, " ")));
  text += "\nEvents\n" + EventsText(info);
  text += "\nCPUs\n" + (info.per_cpu.empty() ? std::string("  not recorded\n") : CpusText(info));
  return text;
}

std::string ImportInfoJson(const ImportInfo& info) {
  output::Json json;
  json["version"] = 1;
  json["usable"] = !info.refusal.has_value();
  json["refusal"] = info.refusal ? info.refusal->message : "";
  json["hint"] = info.refusal ? info.refusal->hint : "";
  json["follows_tasks"] = info.follows_tasks;
  json["damages"] = info.damages;
  json["lost_events"] = info.lost_events;
  json["lost_samples"] = info.lost_samples;
  json["malformed_records"] = info.malformed;
  json["format"] = info.format;
  json["perf_version"] = info.written_by;
  json["command"] = info.command;
  json["host"] = info.host;
  json["kernel_release"] = info.kernel;
  json["machine"] = info.machine;
  json["cpus"] = info.cpus;
  json["cpu_description"] = info.cpu_description;
  json["start_ns"] = info.start_ns;
  json["window_ns"] = info.window_ns;
  json["switch_records"] = info.switch_records;
  json["build_ids"] = info.build_ids;
  json["features"] = info.features;
  json["events"] = output::Json::array();
  for (const ImportInfo::Event& event : info.events) {
    json["events"].push_back({{"name", event.name},
                              {"samples", event.samples},
                              {"clock", event.clock},
                              {"used_for", event.use}});
  }
  json["per_cpu"] = output::Json::array();
  for (const ImportInfo::Cpu& cpu : info.per_cpu) {
    json["per_cpu"].push_back({{"cpu", cpu.number},
                               {"records", cpu.records},
                               {"first_ns", cpu.first_ns},
                               {"last_ns", cpu.last_ns}});
  }
  return output::JsonDocument(json);
}

}  // namespace offcpu::cli
