// SPDX-License-Identifier: MIT
#include "source/replay/trace_formats.h"

#include <utility>

#include "base/parse.h"
#include "base/files.h"

namespace offcpu::source::replay {
namespace {

std::string_view TakeText(FileBytes& bytes) {
  const auto text = bytes.Take(bytes.Read<uint64_t>());
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

// What stands behind "name:" in a format's text.
std::string NameIn(std::string_view text) {
  for (const std::string_view line : Split(text, '\n')) {
    if (line.starts_with("name:")) return std::string(Trim(line.substr(5)));
  }
  return "";
}

void Add(std::string_view system, std::string_view text, FormatTexts* texts) {
  texts->emplace(std::string(system) + "/" + NameIn(text), text);
}

// A format that is not there, or that is not understood, leaves its events unread.
template <class T>
void Read(const FormatTexts& texts, const char* event, Result<T> (*parse)(std::string_view),
          T* format) {
  const auto text = texts.find(event);
  if (text == texts.end()) return;
  if (auto parsed = parse(text->second)) *format = std::move(*parsed);
}

}  // namespace

std::string ReadHeaderPage(FileBytes& bytes) {
  std::string header_page;
  for (int i = 0; i < 2; ++i) {
    const std::string_view name = bytes.TakeString();
    const std::string_view text = TakeText(bytes);
    if (name == "header_page") header_page = text;
  }
  return header_page;
}

void ReadFtraceFormats(FileBytes& bytes, FormatTexts* texts) {
  const auto count = bytes.Read<uint32_t>();
  for (uint32_t i = 0; i < count && bytes.ok(); ++i) Add("ftrace", TakeText(bytes), texts);
}

void ReadEventFormats(FileBytes& bytes, FormatTexts* texts) {
  const auto systems = bytes.Read<uint32_t>();
  for (uint32_t i = 0; i < systems && bytes.ok(); ++i) {
    const std::string_view system = bytes.TakeString();
    const auto events = bytes.Read<uint32_t>();
    for (uint32_t event = 0; event < events && bytes.ok(); ++event) {
      Add(system, TakeText(bytes), texts);
    }
  }
}

Result<tracefs::Formats> MakeFormats(const FormatTexts& texts,
                                     std::optional<kernel_compat::KernelRelease> release) {
  namespace kc = kernel_compat;
  const auto text = texts.find("sched/sched_switch");
  if (text == texts.end()) {
    return Failed("the recording has no format of sched_switch, so no context switches",
                  "record with: trace-cmd record -e sched:sched_switch -e sched:sched_wakeup -T");
  }
  tracefs::Formats formats;
  auto switches = kc::ParseSwitchFormat(text->second, release);
  if (!switches) return switches.error();
  formats.switches = std::move(*switches);
  auto head = kc::ParseRecordHead(text->second, "sched_switch");
  if (!head) return head.error();
  formats.head = *head;
  const auto wakeup = texts.find("sched/sched_wakeup");
  if (wakeup != texts.end()) {
    if (auto parsed = kc::ParseWakeupFormat(wakeup->second, "sched_wakeup")) {
      formats.wakeup = *parsed;
    }
  }
  Read(texts, "task/task_newtask", kc::ParseNewTaskFormat, &formats.new_task);
  Read(texts, "task/task_rename", kc::ParseRenameFormat, &formats.rename);
  Read(texts, "sched/sched_process_exec", kc::ParseExecFormat, &formats.exec);
  Read(texts, "sched/sched_process_exit", kc::ParseExitFormat, &formats.exit);
  Read(texts, "ftrace/kernel_stack", kc::ParseKernelStackFormat, &formats.kernel_stack);
  Read(texts, "ftrace/user_stack", kc::ParseUserStackFormat, &formats.user_stack);
  return formats;
}

}  // namespace offcpu::source::replay
