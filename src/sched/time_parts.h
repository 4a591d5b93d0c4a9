// SPDX-License-Identifier: MIT
#pragma once

#include "model/interval.h"

namespace offcpu::sched {

// Cuts an interval into its time parts; they add up to its duration. A blocked interval sleeps
// until the wake-up and waits for a CPU after it; without a wake-up it is unsplit, unless it had
// not ended and wake-ups were being recorded (`wakeups_recorded`): then it was still asleep. A
// runnable or preempted one waits for a CPU all along.
inline model::TimeParts SplitTime(const model::Interval& interval, bool wakeups_recorded) {
  model::TimeParts parts;
  const Nanos duration = interval.duration();
  if (interval.reason == model::Reason::kRunnable || interval.reason == model::Reason::kPreempted) {
    parts.runqueue = duration;
  } else if (interval.wakeup >= interval.start && interval.wakeup != 0) {
    parts.sleeping = interval.wakeup < interval.end ? interval.wakeup - interval.start : duration;
    parts.runqueue = duration - parts.sleeping;
  } else if (interval.right_open && wakeups_recorded) {
    parts.sleeping = duration;
  } else {
    parts.unsplit = duration;
  }
  return parts;
}

}  // namespace offcpu::sched
