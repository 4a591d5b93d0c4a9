// SPDX-License-Identifier: MIT
#include "source/replay/text_line.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <utility>

namespace offcpu::source::replay {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

std::string_view TrimLeft(std::string_view text) {
  const size_t at = text.find_first_not_of(kBlanks);
  return at == std::string_view::npos ? std::string_view() : text.substr(at);
}

std::string_view TrimRight(std::string_view text) {
  const size_t at = text.find_last_not_of(kBlanks);
  return at == std::string_view::npos ? std::string_view() : text.substr(0, at + 1);
}

bool IsNumber(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

template <class T>
std::optional<T> NumberOf(std::string_view text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !IsNumber(text))
    return std::nullopt;
  return value;
}

std::optional<model::Tid> TidOf(std::string_view text) {
  const auto value = NumberOf<model::Tid>(text);
  return value && (*value == 0 || model::IsPossibleTid(*value)) ? value : std::nullopt;
}

// Takes the last word off `text`.
std::string_view TakeLastWord(std::string_view* text) {
  *text = TrimRight(*text);
  const size_t at = text->find_last_of(kBlanks);
  const size_t begin = at == std::string_view::npos ? 0 : at + 1;
  const std::string_view word = text->substr(begin);
  *text = text->substr(0, begin);
  return word;
}

// "1234.567890:" to nanoseconds.
bool ReadTime(std::string_view word, TextHead* head) {
  if (!word.ends_with(':')) return false;
  word.remove_suffix(1);
  const size_t point = word.find('.');
  if (point == std::string_view::npos) return false;
  std::string fraction(word.substr(point + 1));
  const auto seconds = NumberOf<uint64_t>(word.substr(0, point));
  if (!seconds || !IsNumber(fraction) || fraction.size() > 9) return false;
  if (*seconds > std::numeric_limits<Nanos>::max() / kNanosPerSecond - 1) return false;
  head->digits = static_cast<int>(fraction.size());
  fraction.resize(9, '0');
  head->time = *seconds * kNanosPerSecond + *NumberOf<uint64_t>(fraction);
  return true;
}

std::optional<model::Cpu> ReadCpu(std::string_view word) {
  if (word.size() < 3 || word.front() != '[' || word.back() != ']') return std::nullopt;
  const auto cpu = NumberOf<uint32_t>(word.substr(1, word.size() - 2));
  if (!cpu || *cpu >= 1U << 16) return std::nullopt;
  return static_cast<model::Cpu>(*cpu);
}

// What stands before the CPU: "name pid/tid" (perf script), "name-tid" or "name-tid (tgid)"
// (traces).
model::Pid ReadPid(std::string_view before) {
  before = TrimRight(before);
  if (before.ends_with(')')) {
    const size_t open = before.rfind('(');
    if (open == std::string_view::npos) return -1;
    before = before.substr(open + 1, before.size() - open - 2);
    return TidOf(TrimLeft(before)).value_or(-1);
  }
  const std::string_view word = TakeLastWord(&before);
  const size_t slash = word.rfind('/');
  if (slash == std::string_view::npos || !TidOf(word.substr(slash + 1))) return -1;
  return TidOf(word.substr(0, slash)).value_or(-1);
}

// The event whose name, with or without a colon behind it, stands at `at`.
std::optional<std::string_view> EventAt(std::string_view line, size_t at) {
  const bool begins =
      at > 0 && (kBlanks.find(line[at - 1]) != std::string_view::npos || line[at - 1] == ':');
  if (!begins) return std::nullopt;
  const std::string_view name = line.substr(at, line.substr(at).find_first_of(": (\t"));
  for (const std::string_view event : kTextEvents) {
    if (event != name) continue;
    const bool tracepoint = !event.starts_with("PERF_");
    return !tracepoint || line.substr(at + event.size()).starts_with(':') ? std::optional(event)
                                                                          : std::nullopt;
  }
  return std::nullopt;
}

// The last "key" in text, which is cut there; returns what stood behind it.
std::optional<std::string_view> TakeAfterLast(std::string_view* text, std::string_view key) {
  const size_t at = text->rfind(key);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view value = text->substr(at + key.size());
  *text = text->substr(0, at);
  return value;
}

std::string_view FirstWord(std::string_view text) {
  return text.substr(0, std::min(text.size(), text.find_first_of(kBlanks)));
}

std::optional<TextSwitch> ParseLongSwitch(std::string_view text) {
  TextSwitch result;
  if (!TakeAfterLast(&text, " next_prio=")) return std::nullopt;
  const auto next_pid = TakeAfterLast(&text, " next_pid=");
  const auto next_comm = TakeAfterLast(&text, " ==> next_comm=");
  const auto state = TakeAfterLast(&text, " prev_state=");
  if (!TakeAfterLast(&text, " prev_prio=") || !next_pid || !next_comm || !state)
    return std::nullopt;
  const auto prev_pid = TakeAfterLast(&text, " prev_pid=");
  const size_t comm = text.find("prev_comm=");
  if (!prev_pid || comm == std::string_view::npos) return std::nullopt;
  const auto prev_tid = TidOf(*prev_pid);
  const auto next_tid = TidOf(*next_pid);
  if (!prev_tid || !next_tid || state->empty()) return std::nullopt;
  return TextSwitch{text.substr(comm + 10), *prev_tid, *state, *next_comm, *next_tid, false};
}

struct ShortThread {
  std::string_view comm;
  model::Tid tid = 0;
  std::string_view behind;  // the "]"
};

// "name:pid [prio]", found from the right.
std::optional<ShortThread> ParseShortThread(std::string_view text) {
  for (size_t open = text.rfind(" ["); open != std::string_view::npos;
       open = open == 0 ? std::string_view::npos : text.rfind(" [", open - 1)) {
    const size_t close = text.find(']', open);
    const size_t colon = text.rfind(':', open);
    if (close == std::string_view::npos || colon == std::string_view::npos || colon > open)
      continue;
    std::string_view prio = text.substr(open + 2, close - open - 2);
    if (prio.starts_with('-')) prio.remove_prefix(1);
    const auto tid = TidOf(text.substr(colon + 1, open - colon - 1));
    if (!tid || !IsNumber(prio)) continue;
    return ShortThread{text.substr(0, colon), *tid, text.substr(close + 1)};
  }
  return std::nullopt;
}

std::optional<TextSwitch> ParseShortSwitch(std::string_view text) {
  constexpr std::string_view kArrow = " ==> ";
  for (size_t arrow = text.rfind(kArrow); arrow != std::string_view::npos;
       arrow = arrow == 0 ? std::string_view::npos : text.rfind(kArrow, arrow - 1)) {
    const auto prev = ParseShortThread(text.substr(0, arrow));
    const auto next = ParseShortThread(text.substr(arrow + kArrow.size()));
    if (!prev || !next) continue;
    const std::string_view state = TrimLeft(prev->behind);
    if (state.empty() || state.find_first_of(kBlanks) != std::string_view::npos) continue;
    return TextSwitch{prev->comm, prev->tid, state, next->comm, next->tid, true};
  }
  return std::nullopt;
}

// Does this end in a thread: "prog 13" or "prog 12/13", or in nothing? A reaped one is -1.
bool EndsInThread(std::string_view before) {
  const std::string_view word = TakeLastWord(&before);
  const size_t slash = word.find('/');
  const std::string_view tid = word.substr(slash == std::string_view::npos ? 0 : slash + 1);
  return word.empty() || tid == "-1" || TidOf(tid);
}

// The head in front of the event that stands at `at`.
std::optional<TextHead> ReadHead(std::string_view line, size_t at, std::string_view event) {
  TextHead head;
  head.event = event;
  std::string_view rest = line.substr(at + event.size());
  if (rest.starts_with(':')) rest.remove_prefix(1);
  head.rest = TrimLeft(rest);
  std::string_view before = line.substr(0, at);
  if (before.ends_with(':')) before.remove_suffix(1);  // of "sched:"
  if (before.ends_with("sched") || before.ends_with("events")) TakeLastWord(&before);
  std::string_view word = TakeLastWord(&before);
  if (IsNumber(word)) word = TakeLastWord(&before);  // perf script's period
  if (!ReadTime(word, &head)) return std::nullopt;
  // Between the CPU and the time stand the flags of a trace, which hold no blank.
  std::string_view left = before;
  auto cpu = ReadCpu(TakeLastWord(&left));
  if (!cpu) cpu = ReadCpu(TakeLastWord(&left));
  if (cpu) {
    head.cpu = *cpu;
    before = left;
  } else if (!EndsInThread(before)) {
    return std::nullopt;
  }
  head.pid = ReadPid(before);
  return head;
}

// "(1:2)" at the start of text, which is moved on.
bool TakePair(std::string_view* text, model::Pid* pid, model::Tid* tid) {
  const size_t colon = text->find(':');
  const size_t close = text->find(')');
  if (!text->starts_with('(') || close == std::string_view::npos || colon > close) return false;
  const auto first = TidOf(text->substr(1, colon - 1));
  const auto second = TidOf(text->substr(colon + 1, close - colon - 1));
  if (!first || !second) return false;
  *pid = *first;
  *tid = *second;
  *text = text->substr(close + 1);
  return true;
}

// The number behind the last " key=".
std::optional<model::Tid> TidAfterLast(std::string_view text, std::string_view key) {
  const auto value = TakeAfterLast(&text, key);
  return value ? TidOf(FirstWord(*value)) : std::nullopt;
}

}  // namespace

std::optional<TextHead> ParseTextHead(std::string_view line) {
  for (const std::string_view beginning : {"sched_", "PERF_RECORD_"}) {
    for (size_t at = line.find(beginning); at != std::string_view::npos;
         at = line.find(beginning, at + 1)) {
      const auto event = EventAt(line, at);
      if (!event) continue;
      if (auto head = ReadHead(line, at, *event)) return head;
    }
  }
  return std::nullopt;
}

std::optional<TextFork> ParseTextFork(std::string_view event, std::string_view rest) {
  TextFork fork;
  if (event == "PERF_RECORD_FORK") {  // "(pid:tid):(parent's)"
    if (!TakePair(&rest, &fork.pid, &fork.tid) || !rest.starts_with(':')) return std::nullopt;
    rest.remove_prefix(1);
    if (!TakePair(&rest, &fork.parent_pid, &fork.parent_tid)) return std::nullopt;
    return fork;
  }
  const auto tid = TidAfterLast(rest, " child_pid=");
  const auto parent = TidAfterLast(rest.substr(0, rest.rfind(" child_comm=")), " pid=");
  if (!tid || !parent) return std::nullopt;
  fork.tid = *tid;
  fork.parent_tid = *parent;
  return fork;
}

std::optional<TextName> ParseTextName(std::string_view event, std::string_view rest) {
  TextName name;
  if (event == "PERF_RECORD_COMM") {  // "exec: name:pid/tid", ": name:pid/tid"
    rest = TrimRight(rest);
    name.exec = rest.starts_with("exec: ");
    if (name.exec) rest = rest.substr(6);
    const size_t colon = rest.rfind(':');
    const size_t slash = rest.rfind('/');
    if (colon == std::string_view::npos || slash == std::string_view::npos || slash < colon)
      return std::nullopt;
    const auto pid = TidOf(rest.substr(colon + 1, slash - colon - 1));
    const auto tid = TidOf(rest.substr(slash + 1));
    if (!pid || !tid) return std::nullopt;
    name.pid = *pid;
    name.tid = *tid;
    name.comm = rest.substr(0, colon);
    return name;
  }
  name.exec = true;
  if (!TakeAfterLast(&rest, " old_pid=")) return std::nullopt;
  const auto pid = TakeAfterLast(&rest, " pid=");
  const auto tid = pid ? TidOf(*pid) : std::nullopt;
  const size_t file = rest.find("filename=");
  if (!tid || file == std::string_view::npos) return std::nullopt;
  rest = rest.substr(file + 9);
  name.pid = name.tid = *tid;  // who called execve leads its process now
  name.comm = rest.substr(rest.rfind('/') + 1);
  return name;
}

std::optional<TextExit> ParseTextExit(std::string_view event, std::string_view rest) {
  TextExit exit;
  if (event == "PERF_RECORD_EXIT") {
    return TakePair(&rest, &exit.pid, &exit.tid) ? std::optional(exit) : std::nullopt;
  }
  if (!TakeAfterLast(&rest, " prio=")) return std::nullopt;
  const auto tid = TidAfterLast(rest, " pid=");
  if (!tid) return std::nullopt;
  exit.tid = *tid;
  return exit;
}

std::optional<uint64_t> ParseLostRecord(std::string_view rest) {
  if (!rest.starts_with("lost ")) return std::nullopt;
  return NumberOf<uint64_t>(FirstWord(TrimLeft(rest.substr(5))));
}

std::optional<TextSwitch> ParseTextSwitch(std::string_view rest) {
  if (auto parsed = ParseLongSwitch(rest)) return parsed;
  return ParseShortSwitch(TrimRight(rest));
}

std::optional<TextWakeup> ParseTextWakeup(std::string_view rest) {
  const bool woken = rest.find(" success=0") == std::string_view::npos;
  const size_t comm = rest.find("comm=");
  std::string_view text = rest;
  if (comm != std::string_view::npos && TakeAfterLast(&text, " prio=")) {
    const auto pid = TakeAfterLast(&text, " pid=");
    const auto tid = pid ? TidOf(*pid) : std::nullopt;
    if (!tid) return std::nullopt;
    return TextWakeup{text.substr(std::min(text.size(), comm + 5)), *tid, woken};
  }
  // The last bracket may be the CPU's: "a:1 [120] success=1 CPU:003", "task a:1 [120] success=1
  // [003]".
  const auto thread = ParseShortThread(rest);
  if (!thread) return std::nullopt;
  std::string_view name = thread->comm;
  if (name.starts_with("task ")) name.remove_prefix(5);
  return TextWakeup{name, thread->tid, woken};
}

std::optional<TextLoss> ParseTextLoss(std::string_view line) {
  line = TrimRight(TrimLeft(line));
  if (!line.starts_with("CPU:") || !line.ends_with(']')) return std::nullopt;
  const size_t open = line.find(" [");
  if (open == std::string_view::npos) return std::nullopt;
  const auto cpu = NumberOf<uint32_t>(line.substr(4, open - 4));
  std::string_view text = line.substr(open + 2, line.size() - open - 3);
  const bool lost = text.starts_with("LOST ") && text.ends_with(" EVENTS");
  const bool dropped = text.ends_with("EVENTS DROPPED");
  if (!cpu || *cpu >= 1U << 16 || (!lost && !dropped)) return std::nullopt;
  if (lost) text.remove_prefix(5);
  return TextLoss{static_cast<model::Cpu>(*cpu), NumberOf<uint64_t>(FirstWord(text)).value_or(0)};
}

namespace {

// Not the name of a function that looks like a number: "add", "deed".
bool IsAddress(std::string_view word) {
  const bool hex = std::ranges::all_of(
      word, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  return hex && word.find_first_of("0123456789") != std::string_view::npos;
}

}  // namespace

std::optional<model::SymbolFrame> ParseTextFrame(std::string_view line) {
  if (line.empty() || kBlanks.find(line.front()) == std::string_view::npos) return std::nullopt;
  std::string_view text = TrimRight(TrimLeft(line));
  model::SymbolFrame frame;
  if (text.starts_with("=> ")) {
    frame.kind = model::FrameKind::kKernel;
    frame.name = FirstWord(TrimLeft(text.substr(3)));
    frame.module = "[kernel]";
    return frame.name.empty() ? std::nullopt : std::optional(frame);
  }
  std::string_view module;
  constexpr std::string_view kDeleted = " (deleted))";
  const size_t behind = text.ends_with(kDeleted) ? kDeleted.size() : 1;
  const size_t open = text.substr(0, text.size() - behind).rfind(" (");
  if (text.ends_with(')') && open != std::string_view::npos) {
    module = text.substr(open + 2, text.size() - behind - open - 2);
    text = TrimRight(text.substr(0, open));
  } else if (line.front() != '\t') {
    return std::nullopt;  // the place in a source file, as perf script shows it below a frame
  }
  std::string_view address = FirstWord(text);
  if (!IsAddress(address)) address = {};
  std::string_view name = TrimLeft(text.substr(address.size()));
  if (name.empty() && !address.empty()) name = "[unknown]";
  if (const size_t offset = name.rfind("+0x"); offset != std::string_view::npos) {
    name = name.substr(0, offset);
  }
  const bool of_kernel = module.starts_with('[') && module != "[vdso]" && module != "[vsyscall]" &&
                         module != "[unknown]" && module != "[heap]" && module != "[stack]";
  const bool high = address.size() == 16 && address.starts_with("ffff");
  frame.kind = of_kernel || high ? model::FrameKind::kKernel : model::FrameKind::kUser;
  frame.inlined = module == "inlined";
  if (const size_t slash = module.rfind('/'); slash != std::string_view::npos && !of_kernel) {
    module = module.substr(slash + 1);
  }
  frame.name = name;
  frame.module = frame.inlined ? std::string_view() : module;
  if (frame.module == "[kernel.kallsyms]") frame.module = "[kernel]";
  return frame.name.empty() ? std::nullopt : std::optional(frame);
}

}  // namespace offcpu::source::replay
