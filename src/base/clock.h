// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <ctime>

namespace offcpu {

// Nanoseconds. A point in time is CLOCK_MONOTONIC unless the name says otherwise.
using Nanos = uint64_t;

constexpr Nanos kNanosPerSecond = 1'000'000'000;

inline Nanos ReadClock(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<Nanos>(now.tv_sec) * kNanosPerSecond + static_cast<Nanos>(now.tv_nsec);
}
inline Nanos MonotonicNow() { return ReadClock(CLOCK_MONOTONIC); }

}  // namespace offcpu
