// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "model/ids.h"
#include "model/stack.h"
#include "profile/cell.h"
#include "profile/interner.h"
#include "profile/profile.h"
#include "record/options.h"

namespace offcpu::record {

// Where a thread was found asleep, and as what.
struct SampledPlace {
  model::ThreadRow thread = 0;
  uint32_t task_state = 0;
  std::string_view comm;
  std::string_view process;
  int syscall = -1;                 // -1: none, or not readable
  std::string_view name;            // the system call's
  std::vector<std::string> kernel;  // functions, leaf first; empty: not readable
  bool wanted = true;               // false: its stack stays absent
};

// A thread whose sleep is to be shared out; its names stand where nothing was sampled.
struct SampledThread {
  Nanos first_ns = 0;
  Nanos last_ns = 0;
  Nanos sleeping_ns = 0;
  std::string comm;
  std::string process;
};

// Samples added up by place, and at the end each thread's exact time shared out among them.
class SampledPlaces {
 public:
  using CellId = uint32_t;
  // Cells beyond that join the thread's cell of the marker "[too many stacks]".
  explicit SampledPlaces(size_t max_cells = 500'000) : max_cells_(max_cells) {}

  CellId Find(const SampledPlace& place);
  // A sample `at` nanoseconds from the window's start, that stands for `weight` looks.
  void Add(CellId id, Nanos at, uint32_t weight);

  uint64_t SamplesOf(model::ThreadRow thread) const;

  // What of the thread's sleep is kept as entries, and what is not.
  struct Shares {
    std::vector<profile::Entry> entries;
    Nanos rejected_ns = 0;  // by --state
    uint64_t rejected_samples = 0;
  };
  // Shares out the thread's sleep. Without any sample it stands under the marker "[not sampled]",
  // spread over its life. The entries' `thread` is left to the caller.
  Shares ShareOut(model::ThreadRow thread, const SampledThread& account,
                  const sched::StateFilter& states, Nanos window_ns,
                  profile::Interner* names) const;

 private:
  struct Cell {
    std::vector<model::SymbolFrame> stack;  // root first
    uint32_t task_state = 0;
    std::string comm;
    std::string process;
    uint64_t samples = 0;
    uint64_t weight = 0;
    profile::SmallHistogram when;  // weight
    unsigned when_shift = 0;
  };

  static Cell NotSampled(const SampledThread& account, unsigned shift);
  profile::Entry EntryOf(const Cell& cell, Nanos time, unsigned shift,
                         profile::Interner* names) const;

  size_t max_cells_;
  std::vector<Cell> cells_;
  std::unordered_map<std::string, CellId> ids_;
  std::vector<std::vector<CellId>> by_thread_;  // in the order of their first samples
};

// Cuts `total` into parts in proportion to the weights, whose sum must fit into 64 bits; they add
// up to it. All 0 where no weight is.
std::vector<Nanos> ShareOut(Nanos total, const std::vector<uint64_t>& weights);

}  // namespace offcpu::record
