// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/clock.h"
#include "model/ids.h"

namespace offcpu::model {

// Why the scheduler took a thread off the CPU (design.md, section 2).
enum class Reason : uint8_t { kUnspecified = 0, kBlocked = 1, kRunnable = 2, kPreempted = 3 };
constexpr size_t kReasonCount = 4;
constexpr std::array<std::string_view, kReasonCount> kReasonNames{"unspecified", "blocked",
                                                                  "runnable", "preempted"};

// Task states as offcpu writes them, whatever the kernel's bits were: those of 4.14 and later, with
// the two that the tracepoint folds together kept apart where an older kernel tells them.
enum TaskState : uint32_t {
  kTaskRunning = 0,
  kTaskInterruptible = 0x1,    // S
  kTaskUninterruptible = 0x2,  // D
  kTaskStopped = 0x4,          // T
  kTaskTraced = 0x8,           // t
  kTaskDead = 0x10,            // X
  kTaskZombie = 0x20,          // Z
  kTaskParked = 0x40,          // P
  kTaskIdle = 0x80,            // I
  kTaskKillable = 0x100,       // K: beside D, kernels 2.6.25 to 4.13
  kTaskWaking = 0x200,         // W: same
  kTaskNoLoad = 0x400,         // N: same
  kTaskUnknownState = 0x8000,  // a bit the format has no letter for
};

// Their letters: those of the tracepoint's print text and of /proc/PID/stat.
struct StateLetter {
  TaskState bit;
  char letter;
};
constexpr StateLetter kStateLetters[] = {
    {kTaskInterruptible, 'S'}, {kTaskUninterruptible, 'D'}, {kTaskStopped, 'T'}, {kTaskTraced, 't'},
    {kTaskDead, 'X'},          {kTaskZombie, 'Z'},          {kTaskParked, 'P'},  {kTaskIdle, 'I'},
    {kTaskKillable, 'K'},      {kTaskWaking, 'W'},          {kTaskNoLoad, 'N'},
};

// kTaskRunning for 'R', kTaskUnknownState for what is no state's letter.
constexpr uint32_t StateOfLetter(char letter) {
  if (letter == 'R') return kTaskRunning;
  if (letter == 'x') return kTaskDead;  // EXIT_DEAD, before 4.14
  for (const StateLetter& each : kStateLetters) {
    if (each.letter == letter) return each.bit;
  }
  return kTaskUnknownState;
}

// A command name as the kernel keeps it: up to 15 bytes, NUL-padded, any bytes.
using Comm = std::array<char, 16>;

inline std::string_view CommView(const Comm& comm) {
  size_t length = 0;
  while (length < comm.size() && comm[length] != '\0') ++length;
  return {comm.data(), length};
}
inline Comm MakeComm(std::string_view text) {
  Comm comm{};
  for (size_t i = 0; i < text.size() && i + 1 < comm.size(); ++i) comm[i] = text[i];
  return comm;
}

// Registers and stack of a thread's user part as they were when it left the CPU, in place of a
// chain of it (PERF_SAMPLE_REGS_USER and STACK_USER; perf_event_open(2)).
struct UserCopy {
  uint64_t mask = 0;                    // registers, by perf's numbers (asm/perf_regs.h)
  std::span<const uint64_t> registers;  // those in the mask, ascending
  std::span<const std::byte> stack;     // from the stack pointer upwards

  bool present() const { return !registers.empty(); }
};

// A call chain as it came, leaf first; it lives in the source's buffer and only during the call.
struct CallChain {
  std::span<const uint64_t> kernel;
  std::span<const uint64_t> user;
  bool truncated = false;  // the depth limit cut it: frames towards the root are missing
  bool present = false;    // the event carried a chain at all, be it empty
  UserCopy copy;           // to be walked for the user part, if there is one

  bool empty() const { return kernel.empty() && user.empty() && !copy.present(); }
};

// One context switch on one CPU (sched:sched_switch).
struct Switch {
  Nanos time = 0;
  Cpu cpu = 0;
  Tid prev_tid = 0;
  Pid prev_pid = -1;  // prev's process; -1 when the kernel no longer knows it (a reaped thread)
  Tid next_tid = 0;
  uint32_t prev_state = 0;  // TaskState bits, without the preempt mark
  bool preempted = false;   // the preempt mark
  Comm prev_comm{};
  CallChain chain;  // prev's
};

// A thread started to run, as its own switch record says (PERF_RECORD_SWITCH without SWITCH_OUT).
struct SwitchIn {
  Nanos time = 0;
  Cpu cpu = 0;
  Tid tid = 0;
};

// A thread became runnable (sched:sched_wakeup).
struct Wakeup {
  Nanos time = 0;
  Cpu cpu = 0;  // where the event was written
  Tid tid = 0;
};

// Why a switch-out of this state happened: the kernel's preempt mark wins over the state.
constexpr Reason ReasonOf(uint32_t prev_state, bool preempted) {
  if (preempted) return Reason::kPreempted;
  return prev_state == kTaskRunning ? Reason::kRunnable : Reason::kBlocked;
}

}  // namespace offcpu::model
