// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/filter.h"
#include "analyze/sampling.h"
#include "analyze/slice.h"
#include "analyze/weight.h"
#include "base/clock.h"
#include "model/interval.h"
#include "model/sched_event.h"
#include "profile/profile.h"

namespace offcpu::analyze {

enum class RankBy {
  kPlace,  // kernel wait function, innermost user function, its first caller outside the libraries
  kFrame,  // innermost user function; the kernel wait function where there is none
  kFunction,  // every function of both stacks, inclusive: a wait counts in each, so rows overlap
  kStack,     // whole stacks
  kModule,    // file of the innermost user function
  kThread,    // and its names at the switch-out
  kProcess,   // same
  kReason,
  kState,
};
constexpr std::array<std::string_view, 9> kRankNames{
    "place", "frame", "function", "stack", "module", "thread", "process", "reason", "state"};

// One row of the ranking. `ns` > 0 is by the weights asked for; intervals, observed_ns and max_ns
// are what was measured.
struct RankRow {
  std::vector<std::string> parts;  // what it is about, as the names of RankBy say
  profile::ThreadId thread = 0;    // kThread, kProcess: one that the row is about
  Nanos ns = 0;
  Nanos observed_ns = 0;
  Nanos max_ns = 0;
  uint64_t intervals = 0;  // samples, of a sampled profile
  TimeByThread by_thread;  // ns; of a sampled profile only
  model::TimeParts time;   // adds up to ns
  std::array<Nanos, model::kReasonCount> reason_ns{};

  Nanos mean_ns() const { return intervals == 0 ? 0 : observed_ns / intervals; }
  // The one with the most time; the first of equals.
  model::Reason main_reason() const;
};

struct Ranking {
  RankBy by = RankBy::kPlace;
  std::vector<RankRow> rows;  // all, by ns descending, then by text
  SliceTotal kept;            // what the rows are shares of
  SliceTotal filtered;        // what the filter dropped of the selected reasons
};

// `texts` is FrameTexts(profile).
Ranking Rank(const profile::Profile& profile, const std::vector<std::string>& texts,
             const Filter& filter, RankBy by, Weights weights);

// The parts of a row as one text: "do_nanosleep_[k] <- clock_nanosleep <- main", "a;b;c".
std::string RowText(const Ranking& ranking, const RankRow& row);

}  // namespace offcpu::analyze
