// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "profile/profile.h"

// The arithmetic of Entry::when and Entry::lengths.
namespace offcpu::profile {

constexpr uint32_t kMaxWhenBuckets = 120;
constexpr Nanos kMinWhenBucket = 1'000'000;

// The width is kMinWhenBucket << shift, with the smallest shift for which the window needs at most
// kMaxWhenBuckets, so that windows of about the same length can be compared and merged.
// `shift` is one that is known to be needed.
inline unsigned WhenShift(Nanos window_ns, unsigned shift = 0) {
  while (window_ns != 0 && ((window_ns - 1) / kMinWhenBucket) >> shift >= kMaxWhenBuckets) ++shift;
  return shift;
}

// The bucket of Entry::lengths that a duration belongs to.
inline uint32_t LengthBucket(Nanos duration) {
  return duration == 0 ? 0 : static_cast<uint32_t>(std::bit_width(duration) - 1);
}

inline void AddHistogram(Histogram* to, const Histogram& from) {
  Histogram sum;
  sum.reserve(to->size() + from.size());
  auto a = to->begin();
  auto b = from.begin();
  while (a != to->end() || b != from.end()) {
    const bool take_a = b == from.end() || (a != to->end() && a->first <= b->first);
    const auto& next = take_a ? *a++ : *b++;
    if (!sum.empty() && sum.back().first == next.first) {
      sum.back().second += next.second;
    } else {
      sum.push_back(next);
    }
  }
  *to = std::move(sum);
}

// A canonical time line is kept to a 256th of the entry's time or better: its amounts are multiples
// of 2^WhenUnitShift(observed_ns), but for the last, which has the rest. That makes it half as
// long in the file, where it is most of an entry.
inline unsigned WhenUnitShift(Nanos observed_ns) {
  const auto width = static_cast<unsigned>(std::bit_width(observed_ns));
  return width > 9 ? width - 9 : 0;
}

// Rounds the running total down at the end of each bucket, so that the sum stays exact and no
// bucket is off by more than a unit. Doing it again changes nothing.
inline void RoundWhen(Histogram* when, Nanos observed_ns) {
  const unsigned shift = WhenUnitShift(observed_ns);
  if (shift == 0 || when->empty()) return;
  Nanos exact = 0;
  Nanos rounded = 0;
  for (auto& [bucket, amount] : *when) {
    exact += amount;
    amount = ((exact >> shift) << shift) - rounded;
    rounded += amount;
  }
  std::erase_if(*when, [](const auto& part) { return part.second == 0; });
  if (!when->empty()) when->back().second += exact - rounded;
}

}  // namespace offcpu::profile
