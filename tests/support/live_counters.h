// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace offcpu::live {

// What the kernel counts for a thread (/proc/PID/task/TID/status and schedstat).
struct Counters {
  uint64_t voluntary = 0;
  uint64_t involuntary = 0;
  Nanos on_cpu = 0;         // schedstat, first field
  Nanos waiting = 0;        // second field: for a CPU
  uint64_t switch_ins = 0;  // third field

  bool operator==(const Counters&) const = default;
};

// The growth; the counters of the second minus those of the first reading.
Counters operator-(const Counters& second, const Counters& first);

std::optional<Counters> ReadCounters(pid_t pid, pid_t tid);

// Where a thread is known to sleep: in system call `number`; -1: in a page fault, or dead.
struct SleepingPlace {
  pid_t tid = 0;
  long number = 0;
};

// Whether the thread has left the CPU there. The kernel answers only when the switch-out is
// complete.
bool IsAsleep(pid_t pid, const SleepingPlace& place);

// Waits until the thread sleeps there, then reads its counters. Nobody may wake it meanwhile: so no
// switch-out falls between two clock reads around the reading, as law 2 asks.
Counters ReadAsleep(pid_t pid, const SleepingPlace& place);

// Time that the kernel leaves out of a thread's counters though the wall clock runs on: stolen by
// the hypervisor and, on some kernels, spent in interrupts. Sum over the CPUs since the boot.
Nanos LeftOutTime();
// Its growth since then, at most: the kernel rounds it down.
Nanos LeftOutSince(Nanos before);

// Whether the kernel is built with PREEMPT_RT: most of its locks are slept for, and it preempts
// itself nearly everywhere.
bool IsRealTimeKernel();

}  // namespace offcpu::live
