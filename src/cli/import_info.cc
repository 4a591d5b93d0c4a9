// SPDX-License-Identifier: MIT
#include "cli/import_info.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "output/json.h"
#include "output/terminal.h"
#include "output/text_table.h"

namespace offcpu::cli {
namespace {

using source::replay::RecordingInfo;

std::string Row(const char* name, const std::string& value) {
  return fmt::format("  {:<18} {}\n", name, value.empty() ? "-" : output::Printable(value));
}

using Align = output::TextTable::Align;

std::string EventsText(const RecordingInfo& info) {
  output::TextTable table({{""},
                           {"EVENT", Align::kLeft},
                           {"SAMPLES"},
                           {"CLOCK", Align::kLeft},
                           {"USED FOR", Align::kLeft}});
  for (const RecordingInfo::Event& event : info.events) {
    table.AddRow({"", output::Printable(event.name), std::to_string(event.samples), event.clock,
                  event.use.empty() ? "-" : event.use});
  }
  return table.Render();
}

std::string CpusText(const RecordingInfo& info) {
  output::TextTable table({{""}, {"CPU"}, {"RECORDS"}, {"FIRST"}, {"LAST"}});
  for (const RecordingInfo::Cpu& cpu : info.per_cpu) {
    table.AddRow({"", std::to_string(cpu.number), std::to_string(cpu.records),
                  output::FormatDuration(cpu.first_ns), output::FormatDuration(cpu.last_ns)});
  }
  return table.Render();
}

}  // namespace

std::string ImportInfoText(const RecordingInfo& info) {
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
  text += Row("written by", info.written_by);
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

std::string ImportInfoJson(const RecordingInfo& info) {
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
  json["written_by"] = info.written_by;
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
  for (const RecordingInfo::Event& event : info.events) {
    json["events"].push_back({{"name", event.name},
                              {"samples", event.samples},
                              {"clock", event.clock},
                              {"used_for", event.use}});
  }
  json["per_cpu"] = output::Json::array();
  for (const RecordingInfo::Cpu& cpu : info.per_cpu) {
    json["per_cpu"].push_back({{"cpu", cpu.number},
                               {"records", cpu.records},
                               {"first_ns", cpu.first_ns},
                               {"last_ns", cpu.last_ns}});
  }
  return output::JsonDocument(json);
}

}  // namespace offcpu::cli
