// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "model/interval.h"

namespace offcpu::model {

// What one row of accounts says of its thread, inside the window. The seven times add up to
// last - first (law 1).
struct Account {
  Nanos first = 0;
  Nanos last = 0;
  Nanos on_cpu = 0;
  TimeParts blocked;
  Nanos runnable = 0;
  Nanos preempted = 0;
  Nanos newborn = 0;
  Nanos unknown = 0;
  uint64_t voluntary_switches = 0;
  uint64_t involuntary_switches = 0;
  uint64_t switch_ins = 0;
  Nanos life = 0;      // sum of last - first over all threads that shared this row
  uint64_t lives = 0;  // how many did
};

}  // namespace offcpu::model
