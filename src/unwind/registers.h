// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "model/sched_event.h"

namespace offcpu::unwind {

// Registers as call frame information numbers them (the psABI's DWARF numbers of this machine). Of
// perf's copy those are taken that a walk begins with.
struct Registers {
#if defined(__x86_64__)
  static constexpr size_t kCount =
      17;  // 16: the return address, which is the pc of the first frame
  static constexpr size_t kStackPointer = 7;
#elif defined(__aarch64__)
  static constexpr size_t kCount = 32;  // x0 to x30, sp
  static constexpr size_t kStackPointer = 31;
#else
  static constexpr size_t kCount = 1;
  static constexpr size_t kStackPointer = 0;
#endif
  std::array<uint64_t, kCount> values{};
  uint64_t pc = 0;

  uint64_t stack_pointer() const { return values[kStackPointer]; }
};

// Nothing when the copy lacks stack pointer or pc, or this machine has no such table.
std::optional<Registers> RegistersOf(const model::UserCopy& copy);

}  // namespace offcpu::unwind
