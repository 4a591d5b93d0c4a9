// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/interval.h"
#include "model/stack.h"
#include "profile/profile.h"

namespace offcpu::profile {

// A row of thread accounts with its names still as text; position in the vector + 1 is its
// model::ThreadRow. `numbers` has all but the StringIds.
struct ThreadInput {
  Thread numbers;
  std::string comm;
  std::string process;
};

// Names of a raw stack, root first (symbolize::Symbolizer::Resolve behind it).
using StackNames = std::function<std::vector<model::SymbolFrame>(model::StackId)>;

// Adds intervals up, in memory bounded by the number of distinct (stacks, reason, state, thread,
// names), and at most `max_entries` of those: what comes after joins the entry of the same thread,
// reason and state whose two stacks are the marker "[too many stacks]" and whose names are the
// thread's, and is counted in the note "merged_intervals" with its time.
class Builder {
 public:
  struct Options {
    Nanos window_start = 0;
    size_t max_entries = 500'000;
  };
  explicit Builder(Options options);
  ~Builder();

  // `process` is the process's name at the time. The interval must lie inside the window, and its
  // parts add up to its duration.
  void Add(const model::Interval& interval, const model::TimeParts& parts,
           const model::Comm& process);

  size_t entry_count() const;

  // Ends the building: names the stacks, merges entries whose stacks have equal names, and returns
  // the canonical profile (canonical.h). `frame` carries everything that is not a stack, an entry
  // or a thread: origin, window, counters, losses, warnings; the width of the time line's buckets
  // follows from its window. A stack id of 0 stays absent; `names` is asked once for each other.
  Profile Build(Profile frame, const std::vector<ThreadInput>& threads, const StackNames& names);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace offcpu::profile
