// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.h"

// What the kernel counts for each thread and where a sleeping one is, as files of
// /proc/PID/task/TID tell it. The parsers take any bytes; nothing is what they make of others.
namespace offcpu::process {

// schedstat: exact for a thread that is off the CPU. The run time of one that runs grows at ticks
// and switches only (KF 7), its wait for a CPU when the wait is over.
struct SchedStat {
  Nanos on_cpu = 0;
  Nanos waiting = 0;  // for a CPU: woken, preempted or newborn
  uint64_t switch_ins = 0;

  bool operator==(const SchedStat&) const = default;
};
std::optional<SchedStat> ParseSchedStat(std::string_view text);

// The two ctxt_switches of status.
struct SwitchCounts {
  uint64_t voluntary = 0;
  uint64_t involuntary = 0;
};
std::optional<SwitchCounts> ParseSwitchCounts(std::string_view status);

// syscall: the system call that a thread waits in. It says "running" of threads that don't wait.
struct WaitingCall {
  int number = -1;  // -1: none, as in a page fault
  uint64_t stack_pointer = 0;
  uint64_t instruction = 0;
};
std::optional<WaitingCall> ParseWaitingCall(std::string_view text);

// wchan: the kernel function that a thread waits in; empty when it runs, or may not be looked at.
std::string_view ParseWaitChannel(std::string_view text);

}  // namespace offcpu::process
