// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "model/ids.h"

namespace offcpu::model {

// Events of one CPU that never arrived: `count` of them, somewhere in (from, to).
struct Loss {
  Cpu cpu = 0;
  Nanos from = 0;
  Nanos to = 0;
  uint64_t count =
      0;  // 0 when only the possibility is known (no PERF_FORMAT_LOST before Linux 6.0)
};

// The `to` of a loss whose end has not been seen yet.
constexpr Nanos kStillLosing = ~Nanos{0};

}  // namespace offcpu::model
