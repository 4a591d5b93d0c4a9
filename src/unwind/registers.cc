// SPDX-License-Identifier: MIT
#include "unwind/registers.h"

#include <bit>

namespace offcpu::unwind {
namespace {

// Perf's number of each register (arch/*/include/uapi/asm/perf_regs.h), by its DWARF number.
#if defined(__x86_64__)
// rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15, and the pc as return address.
constexpr std::array<int, Registers::kCount> kPerfNumbers{0,  3,  2,  1,  4,  5,  6,  7, 16,
                                                          17, 18, 19, 20, 21, 22, 23, 8};
constexpr int kPerfPc = 8;
#elif defined(__aarch64__)
constexpr std::array<int, Registers::kCount> kPerfNumbers{
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
    16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
constexpr int kPerfPc = 32;
#else
constexpr std::array<int, Registers::kCount> kPerfNumbers{-1};
constexpr int kPerfPc = -1;
#endif

std::optional<uint64_t> ValueOf(const model::UserCopy& copy, int number) {
  if (number < 0 || (copy.mask >> number & 1) == 0) return std::nullopt;
  const uint64_t below = copy.mask & ((uint64_t{1} << number) - 1);
  const auto at = static_cast<size_t>(std::popcount(below));
  if (at >= copy.registers.size()) return std::nullopt;
  return copy.registers[at];
}

}  // namespace

std::optional<Registers> RegistersOf(const model::UserCopy& copy) {
  Registers registers;
  const auto pc = ValueOf(copy, kPerfPc);
  if (!pc || !ValueOf(copy, kPerfNumbers[Registers::kStackPointer])) return std::nullopt;
  registers.pc = *pc;
  for (size_t i = 0; i < Registers::kCount; ++i) {
    registers.values[i] = ValueOf(copy, kPerfNumbers[i]).value_or(0);
  }
  return registers;
}

}  // namespace offcpu::unwind
