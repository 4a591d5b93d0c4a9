// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "model/ids.h"
#include "model/stack.h"

namespace offcpu::source::replay {

// Scheduler events as the kernel's trace files, trace-cmd report and perf script print them: a head
// with thread, CPU and time, the event's name, and its fields in one of two forms -
//   prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=b next_pid=2 next_prio=120
//   a:1 [120] S ==> b:2 [120]
// (the second by libtraceevent's plugin). Names may hold anything, so fields are found from the
// right.

struct TextHead {
  model::Cpu cpu = -1;  // -1: not printed
  Nanos time = 0;
  int digits = 0;          // of the fraction of a second that were printed
  model::Pid pid = -1;     // of the thread that ran; -1: not printed
  std::string_view rest;   // behind the event's name and colon
  std::string_view event;  // one of kTextEvents
};

// Whose lines are read: tracepoints, without "sched:", and what perf script adds with
// --show-task-events and --show-lost-events.
constexpr std::string_view kTextEvents[] = {
    "sched_switch",       "sched_wakeup",       "sched_wakeup_new",   "sched_waking",
    "sched_process_fork", "sched_process_exec", "sched_process_exit", "PERF_RECORD_FORK",
    "PERF_RECORD_COMM",   "PERF_RECORD_EXIT",   "PERF_RECORD_LOST"};

struct TextSwitch {
  std::string_view prev_comm;
  model::Tid prev_tid = 0;
  std::string_view prev_state;  // "S", "D|K", "R+"
  std::string_view next_comm;
  model::Tid next_tid = 0;
  bool short_form = false;  // whose R may also be a preempted thread
};

struct TextWakeup {
  std::string_view comm;
  model::Tid tid = 0;
  bool woken = true;  // false: success=0, nobody was
};

struct TextFork {
  model::Pid pid = -1;  // of the new thread; -1: not told whether it is a new process
  model::Tid tid = 0;
  model::Pid parent_pid = -1;  // same
  model::Tid parent_tid = 0;
};

struct TextName {
  model::Pid pid = -1;  // -1: not told
  model::Tid tid = 0;
  bool exec = false;
  std::string_view comm;  // may be longer than the kernel keeps
};

struct TextExit {
  model::Pid pid = -1;  // -1: not told
  model::Tid tid = 0;
};

struct TextLoss {
  model::Cpu cpu = -1;
  uint64_t count = 0;  // 0: not told
};

// Nothing where the line is not the head of an event.
std::optional<TextHead> ParseTextHead(std::string_view line);
// Of `rest`; nothing where it is in neither form.
std::optional<TextSwitch> ParseTextSwitch(std::string_view rest);
std::optional<TextWakeup> ParseTextWakeup(std::string_view rest);

// Of `rest` and the event it belongs to.
std::optional<TextFork> ParseTextFork(std::string_view event, std::string_view rest);
std::optional<TextName> ParseTextName(std::string_view event, std::string_view rest);
std::optional<TextExit> ParseTextExit(std::string_view event, std::string_view rest);
// The count of "lost 12".
std::optional<uint64_t> ParseLostRecord(std::string_view rest);

// "CPU:3 [LOST 12 EVENTS]" of a trace file, "CPU:3 [12 EVENTS DROPPED]" of trace-cmd.
std::optional<TextLoss> ParseTextLoss(std::string_view line);

// A line of a call chain: "\tffffffff81 name+0x1f (module)" of perf script, of which address,
// offset and module may not have been printed; " => name" of a trace file's stack. Nothing for
// other lines. Without address and module a function counts as one of the program.
std::optional<model::SymbolFrame> ParseTextFrame(std::string_view line);

}  // namespace offcpu::source::replay
