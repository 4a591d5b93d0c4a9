// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/stack.h"

namespace offcpu::symbolize {

// The functions of the running kernel, its modules and the BPF programs in it, from kallsyms.
class KernelSymbols {
 public:
  KernelSymbols();  // none

  // Empty when all addresses are zero: the kernel hides them from this user. An error when the file
  // can't be read. Lines that make no sense are skipped.
  static Result<KernelSymbols> Read(const std::string& path);
  // The same of a text in memory.
  static KernelSymbols Parse(std::string_view text);

  bool empty() const { return symbols_.empty(); }

  struct Function {
    std::string_view name;    // as the kernel has it; empty: none at that address
    std::string_view module;  // "[kernel]", "[ext4]", "[bpf]"
  };
  // The function that `address` lies in. Nothing below the first symbol, behind the last by more
  // than a function can be long, or among data. Views live as long as this object.
  Function Find(uint64_t address) const;

  // Whether `address` lies in the section of functions that only hand the CPU on: schedule(), but
  // mutex_lock() and do_nanosleep() too (__sched, include/linux/sched/debug.h). The kernel itself
  // leaves them out when it walks the stack of a thread that sleeps (KF 8).
  bool IsSchedulerText(uint64_t address) const {
    return sched_begin_ <= address && address < sched_end_;
  }

  size_t memory() const;

 private:
  struct Symbol {
    uint64_t address;
    uint32_t name;    // position in names_; 0: not a function, ends the one before
    uint16_t module;  // position in modules_
    uint16_t rank;    // the lowest of several at one address gives the name
  };

  void AddLine(std::string_view line);
  void Sort();
  uint16_t ModuleNumber(std::string_view name);

  std::vector<Symbol> symbols_;
  std::string names_;  // each ends in NUL
  std::vector<std::string> modules_;
  uint64_t sched_begin_ = 0;
  uint64_t sched_end_ = 0;
  bool hidden_ = true;
};

// How many leafward frames of a kernel call chain, given leaf first, belong to the machinery that
// recorded it: those leafwards of the innermost __schedule, or without one the leading ones that
// are known tracing functions.
size_t CountTracingFrames(const std::vector<model::SymbolFrame>& leaf_first);

// What IsSchedulerText() tells by the address, by the name: the functions that a thread calls to
// give up its CPU. Fewer, as the kernel has many that wait on top of these.
bool IsSchedulerName(std::string_view name);

}  // namespace offcpu::symbolize
