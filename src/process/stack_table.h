// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "model/sched_event.h"
#include "model/sinks.h"
#include "model/stack.h"
#include "process/process_table.h"

namespace offcpu::process {

// Gives every distinct call chain an id: kernel chains once, user chains once a process and
// generation. New ones are collected with their addresses looked up in the mappings of that moment.
// A chain seen before costs a comparison with the one of its kind seen last, else a hash over its
// addresses; never an allocation.
class StackTable : public model::StackInterner {
 public:
  // After `max_stacks` distinct chains all new ones get the id overflow_stack().
  explicit StackTable(ProcessTable& processes, size_t max_stacks = 200'000);

  model::StackIds Intern(model::Pid pid, const model::CallChain& chain) override;

  std::vector<model::RawStack> TakeNewStacks();

  // Ids that stand for no chain of their own.
  static constexpr model::StackId kOverflowStack = 1;
  static constexpr model::StackId kFirstStack = 2;
  uint64_t overflows() const { return overflows_; }  // chains that got kOverflowStack
  size_t size() const { return entries_.size() - kFirstStack; }

 private:
  struct Entry {
    uint64_t hash = 0;
    size_t begin = 0;  // in addresses_
    uint32_t length = 0;
    model::Pid pid = 0;  // 0: kernel
    uint64_t generation = 0;
    bool truncated = false;
  };
  // The chain seen last of those that agree in length and in a few addresses.
  struct Recent {
    model::StackId id = 0;
    uint64_t generations = 0;  // ProcessTable's at that time
  };

  model::StackId InternHalf(std::span<const uint64_t> addresses, model::Pid pid, bool truncated);
  model::StackId Find(Entry& key, std::span<const uint64_t> addresses);
  Recent& RecentOf(std::span<const uint64_t> addresses, model::Pid pid);
  model::StackId Add(const Entry& key, std::span<const uint64_t> addresses);
  bool SameAddresses(const Entry& entry, std::span<const uint64_t> addresses) const;
  void Grow();

  ProcessTable& processes_;
  const size_t max_stacks_;
  std::vector<Entry> entries_;
  std::vector<uint64_t> addresses_;
  std::vector<model::StackId> slots_;  // open addressing, a power of two
  std::array<Recent, 1024> recent_{};
  std::vector<model::RawStack> new_stacks_;
  uint64_t overflows_ = 0;
};

}  // namespace offcpu::process
