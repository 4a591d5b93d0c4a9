// SPDX-License-Identifier: MIT
#include "record/sampled_account.h"

#include <algorithm>

namespace offcpu::record {

void SampledAccount::FirstLook(Nanos time, const process::SchedStat& counters, bool asleep) {
  looked_ = true;
  settled_ = asleep || born_;
  sum_.first = born_ ? std::min(*born_, time) : time;
  lag_from_ = sum_.first;
  if (!born_) return;
  // Its birth is known to a clock tick only, so the rest of its youth is unknown.
  const Nanos life = time - sum_.first;
  sum_.on_cpu = counters.on_cpu;
  sum_.waiting = counters.waiting;
  sum_.switch_ins = counters.switch_ins;
  const Nanos known = std::min(life, sum_.on_cpu) + std::min(life, sum_.waiting);
  sum_.unknown = life - std::min(life, known);
}

void SampledAccount::Look(Nanos time, const process::SchedStat& counters, bool asleep) {
  const Nanos before = sum_.last;
  grew_ = looked_ && counters != counters_;
  if (!looked_) {
    FirstLook(time, counters, asleep);
  } else if (counters.on_cpu < counters_.on_cpu || counters.waiting < counters_.waiting ||
             counters.switch_ins < counters_.switch_ins) {
    // Another thread's counters: one that took over the id by an exec.
    sum_.unknown += time - before;
    settled_ = asleep;
    lag_from_ = before;
  } else if (!settled_) {
    sum_.unknown += time - before;
    settled_ = asleep || grew_;
    if (grew_) lag_from_ = before;
  } else {
    sum_.on_cpu += counters.on_cpu - counters_.on_cpu;
    sum_.waiting += counters.waiting - counters_.waiting;
    sum_.switch_ins += counters.switch_ins - counters_.switch_ins;
    if (grew_) lag_from_ = before;
  }
  counters_ = counters;
  asleep_ = asleep;
  ever_asleep_ |= asleep;
  sum_.last = time;
}

SampledAccount::Totals SampledAccount::Finish(bool left_to_wait) const {
  Totals totals = sum_;
  // The counters' clock is not quite CLOCK_MONOTONIC.
  Nanos rest = totals.last - totals.first;
  for (Nanos* part : {&totals.on_cpu, &totals.waiting, &totals.unknown}) {
    *part = std::min(*part, rest);
    rest -= *part;
  }
  Nanos lag = asleep_ ? 0 : std::min(rest, totals.last - std::min(totals.last, lag_from_));
  if (!left_to_wait && !ever_asleep_) lag = rest;
  totals.unknown += lag;
  totals.sleeping = rest - lag;
  return totals;
}

}  // namespace offcpu::record
