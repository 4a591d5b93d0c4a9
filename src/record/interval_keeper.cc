// SPDX-License-Identifier: MIT
#include "record/interval_keeper.h"

namespace offcpu::record {

using model::Reason;
using model::Rejection;

std::optional<Rejection> IntervalKeeper::Judge(const model::Interval& interval,
                                               bool kernel_thread) const {
  const bool wanted = (interval.reason == Reason::kBlocked && selection_.blocked) ||
                      (interval.reason == Reason::kRunnable && selection_.runnable) ||
                      (interval.reason == Reason::kPreempted && selection_.preempted);
  if (!wanted) return Rejection::kReason;
  if (selection_.min_off_cpu && interval.duration() <= *selection_.min_off_cpu)
    return Rejection::kMinimum;
  if (selection_.max_off_cpu && interval.duration() >= *selection_.max_off_cpu)
    return Rejection::kMaximum;
  const bool preempted = interval.reason == Reason::kPreempted;
  if (!selection_.states.Matches(interval.task_state, preempted)) return Rejection::kState;
  if (!kernel_thread && !selection_.user_threads) return Rejection::kUserThread;
  if (kernel_thread && !selection_.kernel_threads) return Rejection::kKernelThread;
  return std::nullopt;
}

bool IntervalKeeper::Keep(const model::Interval& interval, bool kernel_thread) {
  Sum& sum = by_reason_[static_cast<size_t>(interval.reason)];
  ++sum.count;
  sum.ns += interval.duration();
  const auto cause = Judge(interval, kernel_thread);
  if (!cause) return true;
  Sum& rejected = rejected_[static_cast<size_t>(*cause)];
  ++rejected.count;
  rejected.ns += interval.duration();
  return false;
}

void IntervalKeeper::Count(const model::RejectedIntervals& rejected) {
  for (Sum* sum : {&by_reason_[static_cast<size_t>(rejected.reason)],
                   &rejected_[static_cast<size_t>(rejected.cause)]}) {
    sum->count += rejected.count;
    sum->ns += rejected.ns;
  }
}

std::vector<profile::Counter> IntervalKeeper::ByReason() const {
  std::vector<profile::Counter> counters;
  for (const Reason reason : {Reason::kBlocked, Reason::kRunnable, Reason::kPreempted}) {
    const auto at = static_cast<size_t>(reason);
    counters.push_back(
        {std::string(model::kReasonNames[at]), by_reason_[at].count, by_reason_[at].ns});
  }
  return counters;
}

std::vector<profile::Counter> IntervalKeeper::Rejected() const {
  constexpr std::array<const char*, model::kRejections> kNames{
      "reason", "min_off_cpu", "max_off_cpu", "state", "user_thread", "kernel_thread"};
  std::vector<profile::Counter> counters;
  for (size_t cause = 0; cause < model::kRejections; ++cause) {
    if (rejected_[cause].count == 0) continue;
    counters.push_back({kNames[cause], rejected_[cause].count, rejected_[cause].ns});
  }
  return counters;
}

}  // namespace offcpu::record
