// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "model/interval.h"
#include "model/tracked.h"
#include "profile/profile.h"
#include "record/options.h"

namespace offcpu::record {

// Decides which intervals are kept and counts all of them, kept or not (law 4).
class IntervalKeeper {
 public:
  explicit IntervalKeeper(const Selection& selection) : selection_(selection) {}

  // Counts the interval; true when it is to be kept. The first rule that rejects it names the
  // cause.
  bool Keep(const model::Interval& interval, bool kernel_thread);

  // Counts intervals that the source has judged by the same rules.
  void Count(const model::RejectedIntervals& rejected);

  std::vector<profile::Counter> ByReason() const;
  std::vector<profile::Counter> Rejected()
      const;  // causes that occurred, in the order of the rules

 private:
  struct Sum {
    uint64_t count = 0;
    Nanos ns = 0;
  };

  // The rule that it breaks, if any.
  std::optional<model::Rejection> Judge(const model::Interval& interval, bool kernel_thread) const;

  const Selection selection_;
  std::array<Sum, model::kReasonCount> by_reason_{};
  std::array<Sum, model::kRejections> rejected_{};
};

}  // namespace offcpu::record
