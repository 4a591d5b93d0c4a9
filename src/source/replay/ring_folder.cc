// SPDX-License-Identifier: MIT
#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/files.h"
#include "base/parse.h"
#include "source/replay/trace_dat.h"

namespace offcpu::source::replay {
namespace {

namespace fs = std::filesystem;

// Pages of 4096 bytes on a 64-bit kernel: what folders have that keep no header_page.
constexpr kernel_compat::PageLayout kUsualLayout{8, 8, 16, 4080};

constexpr const char* kEvents[] = {"sched/sched_switch",       "sched/sched_wakeup",
                                   "task/task_newtask",        "task/task_rename",
                                   "sched/sched_process_exec", "sched/sched_process_exit",
                                   "ftrace/kernel_stack",      "ftrace/user_stack"};

Result<void> AddCpus(const std::string& path, RingRecording* recording) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path + "/per_cpu", error)) {
    const std::string name = entry.path().filename();
    uint32_t cpu = 0;
    if (!name.starts_with("cpu") || !ParseNumber(std::string_view(name).substr(3), &cpu)) continue;
    if (cpu >= 1U << 12) continue;
    auto file = RandomFile::Open(entry.path() / "trace_pipe_raw");
    if (!file) return file.error();
    recording->cpus.push_back({static_cast<model::Cpu>(cpu), [file = std::move(*file)] {
                                 return PlainPages(file, 0, file->size());
                               }});
  }
  if (recording->cpus.empty()) {
    return Failed("there is no per_cpu/cpuN/trace_pipe_raw in it",
                  "a folder is read that holds those files and, beside per_cpu, the folder events "
                  "with the formats");
  }
  std::ranges::sort(recording->cpus, {}, &RingRecording::Cpu::number);
  return {};
}

}  // namespace

Result<RingRecording> OpenRingFolder(const std::string& path, const std::string& formats) {
  RingRecording recording;
  recording.format = "raw pages of the trace ring";
  if (auto added = AddCpus(path, &recording); !added) return added.error();
  const std::string events = (formats.empty() ? path : formats) + "/events/";
  FormatTexts texts;
  for (const char* event : kEvents) {
    if (auto text = ReadSmallFile(events + event + "/format")) texts.emplace(event, *text);
  }
  auto parsed = MakeFormats(texts, std::nullopt);
  if (!parsed) {
    Error error = parsed.error();
    if (texts.empty()) error.hint = "give the folder that holds 'events' with --formats DIRECTORY";
    return error;
  }
  recording.formats = std::move(*parsed);
  recording.layout = kUsualLayout;
  if (const auto text = ReadSmallFile(events + "header_page")) {
    auto layout = kernel_compat::ParsePageLayout(*text);
    if (!layout) return layout.error();
    recording.layout = *layout;
  } else {
    recording.warnings.emplace_back(
        "there is no events/header_page: pages of 4096 bytes of a 64-bit kernel are assumed");
  }
  recording.facts.recorder = "raw trace pages";
  return recording;
}

}  // namespace offcpu::source::replay
