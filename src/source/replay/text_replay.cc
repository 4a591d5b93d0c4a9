// SPDX-License-Identifier: MIT
#include "source/replay/text_replay.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "kernel-compat/task_state.h"
#include "source/replay/null_sink.h"

namespace offcpu::source::replay {
namespace {

constexpr size_t kLongestLine = 64U << 10;
constexpr size_t kMostFrames = 512;
constexpr int kLinesAtOnce = 4096;

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// A trace that was wrapped into a page of JavaScript has the two characters \n at the end of lines.
std::string_view WithoutEnd(std::string_view line) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  if (line.ends_with("\\n\\")) line.remove_suffix(3);
  return line;
}

// Is this a line that would be an event, if it could be read?
bool IsSchedEvent(std::string_view line) {
  for (const std::string_view name :
       {"sched_switch: ", "sched_wakeup: ", "sched_wakeup_new: ", "sched_waking: ",
        "sched_process_fork: ", "sched_process_exec: ", "sched_process_exit: "}) {
    if (!line.starts_with('#') && line.find(name) != std::string_view::npos) return true;
  }
  return false;
}

// By perf, of /proc: a task that was there before.
bool IsMadeUp(const TextHead& head) { return head.time == 0 && head.event.starts_with("PERF_"); }

}  // namespace

bool TextReplay::LooksLikeOne(std::string_view beginning) {
  while (!beginning.empty()) {
    const size_t end = std::min(beginning.find('\n'), beginning.size());
    if (ParseTextHead(WithoutEnd(beginning.substr(0, end)))) return true;
    beginning.remove_prefix(std::min(end + 1, beginning.size()));
  }
  return false;
}

// ---- lines --------------------------------------------------------------------------------------

// False at the end. A line that is too long loses its end.
bool TextReplay::ReadLine(std::string* line) {
  if (first_line_) {
    *line = *std::exchange(first_line_, std::nullopt);
    line_number_ = first_line_number_;
    return true;
  }
  line->clear();
  for (;;) {
    const auto bytes = input_.Peek(kLongestLine);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (text.empty()) break;
    const size_t end = text.find('\n');
    const std::string_view part = text.substr(0, end);
    if (line->size() < kLongestLine) line->append(part);
    input_.Consume(end == std::string_view::npos ? text.size() : end + 1);
    if (end == std::string_view::npos) continue;
    ++line_number_;
    return true;
  }
  if (line->empty()) return false;
  ++line_number_;
  return true;
}

Result<Nanos> TextReplay::Start() {
  const auto beginning = input_.Peek(Input::kBlock);
  const std::string_view peeked(reinterpret_cast<const char*>(beginning.data()), beginning.size());
  use_wakings_ = peeked.find("sched_wakeup") == std::string_view::npos;
  std::string line;
  while (ReadLine(&line)) {
    const std::string_view text = WithoutEnd(line);
    const auto head = ParseTextHead(text);
    if (!head || IsMadeUp(*head)) {
      if (!head && IsSchedEvent(text)) NoteUnread();
      continue;
    }
    first_line_number_ = line_number_;
    released_ = head->time;
    first_line_ = std::move(line);
    return released_;
  }
  if (input_.error()) return *input_.error();
  return Failed("the text has no line of a sched_switch event that could be read",
                "print one with: perf script, trace-cmd report, or read the kernel's trace file");
}

void TextReplay::Drain(model::EventSink& sink) {
  std::string line;
  for (int i = 0; i < kLinesAtOnce; ++i) {
    if (!ReadLine(&line)) {
      at_end_ = true;
      DeliverPending(sink);
      return;
    }
    TakeLine(WithoutEnd(line), sink);
  }
}

Nanos TextReplay::Stop(model::EventSink& sink) {
  DeliverPending(sink);
  for (size_t cpu = 0; cpu < cpus_.size(); ++cpu) {
    EndLoss(static_cast<model::Cpu>(cpu), released_, sink);
  }
  AddWarnings();
  return released_;
}

void TextReplay::TakeLine(std::string_view line, model::EventSink& sink) {
  if (line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  if (const auto head = ParseTextHead(line)) {
    DeliverPending(sink);
    if (!TakeEvent(*head, sink)) NoteUnread();
    return;
  }
  if (const auto frame = ParseTextFrame(line)) {
    TakeFrame(*frame);
  } else if (const auto loss = ParseTextLoss(line)) {
    DeliverPending(sink);
    TakeLoss(*loss, sink);
  } else if (line.empty()) {
    DeliverPending(sink);  // the end of a call chain
  } else if (IsSchedEvent(line)) {
    NoteUnread();
  }
}

void TextReplay::NoteUnread() {
  if (unread_lines_++ == 0) first_unread_ = line_number_;
}

// ---- events -------------------------------------------------------------------------------------

TextReplay::CpuSeen& TextReplay::SeenOn(model::Cpu cpu) {
  const auto at = static_cast<size_t>(cpu);
  if (at >= cpus_.size()) cpus_.resize(at + 1);
  return cpus_[at];
}

// What is older than what was delivered is lost, if it is a switch.
bool TextReplay::InOrder(const TextHead& head, model::Cpu cpu, model::EventSink& sink) {
  CpuSeen& seen = SeenOn(cpu);
  if (seen.events++ == 0) seen.first = head.time;
  if (head.time >= released_) {
    EndLoss(cpu, head.time, sink);
    seen.last = head.time;
    released_ = head.time;
    return true;
  }
  ++late_;
  if (head.event == "sched_switch") sink.OnLoss({cpu, head.time, released_, 1});
  return false;
}

bool TextReplay::TakeEvent(const TextHead& head, model::EventSink& sink) {
  const std::string_view event = head.event;
  if (event == "sched_switch") return TakeSwitch(head, sink);
  if (event.starts_with("sched_wa")) return TakeWakeup(head, sink);
  if (event == "PERF_RECORD_LOST") return TakeLostRecord(head, sink);
  if (IsMadeUp(head)) return true;
  ++task_events_;
  if (event.ends_with("_fork") || event.ends_with("_FORK")) return TakeFork(head, sink);
  if (event.ends_with("_exit") || event.ends_with("_EXIT")) return TakeExit(head, sink);
  return TakeName(head, sink);
}

model::Cpu TextReplay::CpuOf(const TextHead& head, model::Tid tid) const {
  return head.cpu >= 0 ? head.cpu : unprinted_.Of(tid);
}

bool TextReplay::TakeSwitch(const TextHead& head, model::EventSink& sink) {
  const auto parsed = ParseTextSwitch(head.rest);
  if (!parsed) return false;
  digits_ = std::min(digits_, head.digits);
  cpus_printed_ = cpus_printed_ && head.cpu >= 0;
  ++switches_;
  const model::Cpu cpu =
      head.cpu >= 0 ? head.cpu : unprinted_.Take(parsed->prev_tid, parsed->next_tid);
  if (!InOrder(head, cpu, sink)) return true;
  CpuSeen& seen = SeenOn(cpu);
  ++ordered_switches_;
  if (parsed->prev_tid == 0) ++idle_outs_;
  if (seen.next == parsed->prev_tid) ++chained_;
  seen.next = parsed->next_tid;
  const auto state = kernel_compat::StateOfText(parsed->prev_state);
  short_form_ = short_form_ || parsed->short_form;
  marks_ = marks_ || state.preempted;
  Pending pending;
  pending.event.time = head.time;
  pending.event.cpu = cpu;
  pending.event.prev_tid = parsed->prev_tid;
  pending.event.prev_pid = head.pid;
  pending.event.next_tid = parsed->next_tid;
  pending.event.prev_state = state.state;
  pending.event.preempted = state.preempted;
  pending.event.prev_comm = model::MakeComm(parsed->prev_comm);
  pending_ = std::move(pending);
  return true;
}

bool TextReplay::TakeWakeup(const TextHead& head, model::EventSink& sink) {
  const auto parsed = ParseTextWakeup(head.rest);
  if (!parsed) return false;
  const bool waking = head.event == "sched_waking";
  ++(waking ? wakings_ : wakeups_);
  const model::Cpu cpu = std::max(head.cpu, 0);
  if (!InOrder(head, cpu, sink) || !parsed->woken || waking != use_wakings_) return true;
  sink.OnWakeup({head.time, cpu, parsed->tid});
  return true;
}

// ---- tasks --------------------------------------------------------------------------------------

// As printed with the event, or else a process of its own.
model::Pid TextReplay::ProcessOf(const TextHead& head, model::Tid tid) const {
  return head.pid >= 0 ? head.pid : tid;
}

bool TextReplay::TakeFork(const TextHead& head, model::EventSink& sink) {
  auto parsed = ParseTextFork(head.event, head.rest);
  if (!parsed) return false;
  // The tracepoint does not tell threads from processes; who forked is known by its first switch.
  const bool unknown = parsed->pid < 0 && head.pid >= 0;
  if (unknown || !InOrder(head, CpuOf(head, parsed->parent_tid), sink)) return true;
  model::Fork fork;
  fork.time = head.time;
  fork.tid = parsed->tid;
  fork.pid = parsed->pid >= 0 ? parsed->pid : parsed->tid;
  fork.parent_tid = parsed->parent_tid;
  fork.parent_pid = parsed->parent_pid >= 0 ? parsed->parent_pid : parsed->parent_tid;
  sink.OnFork(fork);
  return true;
}

bool TextReplay::TakeName(const TextHead& head, model::EventSink& sink) {
  const auto parsed = ParseTextName(head.event, head.rest);
  if (!parsed) return false;
  const model::Cpu cpu = CpuOf(head, parsed->tid);
  if (!InOrder(head, cpu, sink)) return true;
  model::CommChange change;
  change.time = head.time;
  change.cpu = cpu;
  change.pid = parsed->pid >= 0 ? parsed->pid : ProcessOf(head, parsed->tid);
  change.tid = parsed->tid;
  change.exec = parsed->exec;
  change.comm = model::MakeComm(parsed->comm);
  sink.OnCommChange(change);
  return true;
}

bool TextReplay::TakeExit(const TextHead& head, model::EventSink& sink) {
  const auto parsed = ParseTextExit(head.event, head.rest);
  if (!parsed) return false;
  if (!InOrder(head, CpuOf(head, parsed->tid), sink)) return true;
  const model::Pid pid = parsed->pid >= 0 ? parsed->pid : ProcessOf(head, parsed->tid);
  sink.OnExit({head.time, pid, parsed->tid, /*last=*/false});
  return true;
}

bool TextReplay::TakeLostRecord(const TextHead& head, model::EventSink& sink) {
  const auto count = ParseLostRecord(head.rest);
  if (!count) return false;
  const model::Cpu cpu = std::max(head.cpu, 0);
  TakeLoss({cpu, *count}, sink);
  InOrder(head, cpu, sink);
  return true;
}

// ---- call chains and losses ---------------------------------------------------------------------

void TextReplay::TakeFrame(const model::SymbolFrame& frame) {
  if (!pending_) return;  // of an event that is not read
  pending_->chain = true;
  auto& half = frame.kind == model::FrameKind::kKernel ? pending_->kernel : pending_->user;
  if (half.size() < kMostFrames) half.push_back(names_->NumberOf(frame));
}

// Between the CPU's event before and its next one.
void TextReplay::TakeLoss(const TextLoss& loss, model::EventSink& sink) {
  const uint64_t count = std::max<uint64_t>(loss.count, 1);
  lost_ += count;
  CpuSeen& seen = SeenOn(loss.cpu);
  if (seen.losing == 0) sink.OnLoss({loss.cpu, seen.last, model::kStillLosing, 0});
  seen.losing += count;
}

void TextReplay::EndLoss(model::Cpu cpu, Nanos time, model::EventSink& sink) {
  CpuSeen& seen = SeenOn(cpu);
  const uint64_t count = std::exchange(seen.losing, 0);
  if (count > 0) sink.OnLoss({cpu, seen.last, time, count});
}

void TextReplay::DeliverPending(model::EventSink& sink) {
  if (!pending_) return;
  Pending pending = *std::exchange(pending_, std::nullopt);
  pending.event.chain.kernel = pending.kernel;
  pending.event.chain.user = pending.user;
  pending.event.chain.present = pending.chain;
  own_processes_.set_sink(&sink);
  own_processes_.OnSwitch(pending.event);
}

// ---- what is told of it -------------------------------------------------------------------------

// Of a recording of single tasks a text has how they left the CPU, not how they came back: nobody
// leaves the idle task, and who leaves is rarely the one that came last.
bool TextReplay::FollowsTasks() const {
  return ordered_switches_ > 2 && idle_outs_ == 0 && chained_ * 2 < ordered_switches_;
}

Result<void> TextReplay::CheckUse() const {
  if (switches_ == 0) {
    return Failed("the text has no sched_switch event that could be read",
                  "print sched_switch as well: perf script, trace-cmd report");
  }
  if (FollowsTasks()) {
    return Failed(
        "the text tells when threads left the CPU, not when they came back: it is of a recording "
        "that follows tasks, or was filtered",
        "record whole CPUs and print all: perf record -a -e sched:sched_switch; perf script");
  }
  return {};
}

RecordingFacts TextReplay::facts() const {
  RecordingFacts facts;
  facts.recorder = "text of scheduler events";
  facts.wakeups = true;
  return facts;
}

std::vector<Note> TextReplay::notes() const {
  return {{"events", switches_ + wakeups_ + wakings_ + task_events_},
          {"late_events", late_},
          {"frames_without_kept_name", names_->not_kept()},
          {"unread_lines", unread_lines_}};
}

std::vector<std::string> TextReplay::Damages() const {
  std::vector<std::string> damages;
  if (input_.error()) damages.push_back("reading ended early: " + input_.error()->message);
  if (unread_lines_ > 0) {
    damages.push_back(
        fmt::format("{} lines with scheduler events could not be read, the first is line {}",
                    unread_lines_, first_unread_));
  }
  return damages;
}

void TextReplay::AddWarnings() {
  warnings_ = Damages();
  if (digits_ < 9) {
    warnings_.push_back(
        fmt::format("times were printed with {} digits of a second's fraction: waits "
                    "are no more exact",
                    digits_));
  }
  if (short_form_ && !marks_) {
    warnings_.push_back(
        "no switch is marked as preempted, which this form of sched_switch may not print: all with "
        "the letter R count as runnable");
  }
  if (own_processes_.any()) {
    warnings_.push_back("the text does not tell processes: each thread stands for one of its own");
  }
  if (!cpus_printed_) {
    warnings_.push_back("the text does not tell CPUs: they were made up of who follows on whom");
  }
  if (use_wakings_ && wakings_ > 0) {
    warnings_.push_back(
        "wake-ups are those of sched_waking, which comes a few microseconds before sched_wakeup");
  }
}

RecordingInfo TextReplay::Describe() {
  RecordingInfo info;
  info.format = "text of scheduler events";
  NullSink sink;
  const auto begin = Start();
  if (!begin) {
    info.refusal = begin.error();
    return info;
  }
  while (!finished()) Drain(sink);
  const Nanos end = Stop(sink);
  info.start_ns = *begin;
  info.window_ns = end - *begin;
  const std::string clock = fmt::format("{} digits", digits_);
  const auto add = [&](const char* name, const char* use, uint64_t count) {
    if (count > 0) info.events.push_back({name, use, clock, count});
  };
  add("sched_switch", "switches", switches_);
  add("sched_wakeup", use_wakings_ ? "" : "wake-ups", wakeups_);
  add("sched_waking", use_wakings_ ? "wake-ups" : "", wakings_);
  add("forks, names, exits", "threads", task_events_);
  for (size_t cpu = 0; cpu < cpus_.size(); ++cpu) {
    const CpuSeen& seen = cpus_[cpu];
    if (seen.events == 0) continue;
    info.per_cpu.push_back({static_cast<int>(cpu), seen.events,
                            std::max(seen.first, *begin) - *begin,
                            std::max(seen.last, *begin) - *begin});
  }
  info.cpus = static_cast<uint32_t>(info.per_cpu.size());
  info.lost_events = lost_;
  info.malformed = unread_lines_;
  info.damages = Damages();
  if (auto usable = CheckUse(); !usable) info.refusal = usable.error();
  return info;
}

}  // namespace offcpu::source::replay
