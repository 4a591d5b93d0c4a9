// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "model/ids.h"
#include "model/sched_event.h"
#include "profile/histogram.h"
#include "profile/profile.h"

// An entry while the builder adds to it.
namespace offcpu::profile {

// A Histogram of at most 256 buckets, in half the memory.
class SmallHistogram {
 public:
  void Add(uint32_t bucket, uint64_t amount) {
    // The same bucket as before, most of the time.
    if (last_ < parts_.size() && parts_[last_].bucket == bucket) {
      parts_[last_].amount += amount;
      return;
    }
    size_t place = parts_.size();
    while (place > 0 && parts_[place - 1].bucket > bucket) --place;
    if (place > 0 && parts_[place - 1].bucket == bucket) {
      parts_[--place].amount += amount;
    } else {
      parts_.insert(parts_.begin() + static_cast<ptrdiff_t>(place),
                    Part{static_cast<uint8_t>(bucket), amount});
    }
    last_ = static_cast<uint8_t>(place);
  }

  // Makes each bucket 2^shift times as wide.
  void Fold(unsigned shift) {
    if (shift == 0) return;
    size_t kept = 0;
    for (const Part part : parts_) {
      const auto bucket = static_cast<uint8_t>(shift < 8 ? part.bucket >> shift : 0);
      if (kept > 0 && parts_[kept - 1].bucket == bucket) {
        parts_[kept - 1].amount += part.amount;
      } else {
        parts_[kept++] = Part{bucket, part.amount};
      }
    }
    parts_.resize(kept);
  }

  Histogram Get() const {
    Histogram histogram;
    histogram.reserve(parts_.size());
    for (const Part part : parts_) histogram.emplace_back(part.bucket, part.amount);
    return histogram;
  }

 private:
  struct [[gnu::packed]] Part {
    uint8_t bucket = 0;
    uint64_t amount = 0;
  };
  std::vector<Part> parts_;
  uint8_t last_ = 0;  // place of the bucket added to last
};

struct CellKey {
  model::ThreadRow thread = 0;
  model::StackId kernel_stack = 0;
  model::StackId user_stack = 0;
  uint32_t task_state = 0;
  StringId comm = 0;
  StringId process = 0;
  model::Reason reason = model::Reason::kUnspecified;

  bool operator==(const CellKey&) const = default;
};

inline uint64_t HashOf(const CellKey& key) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15U;
  uint64_t hash = static_cast<uint64_t>(key.kernel_stack) << 32 | key.user_stack;
  hash = (hash ^ hash >> 29) * kOdd;
  hash ^= static_cast<uint64_t>(key.thread) << 32 | key.comm;
  hash = (hash ^ hash >> 29) * kOdd;
  hash ^= static_cast<uint64_t>(key.process) << 32 | key.task_state << 2 |
          static_cast<uint32_t>(key.reason);
  hash = (hash ^ hash >> 29) * kOdd;
  return hash ^ hash >> 32;
}

struct Cell {
  CellKey key;
  uint32_t left_open = 0;
  uint32_t right_open = 0;
  unsigned when_shift = 0;  // buckets of `when` are kMinWhenBucket << when_shift wide
  uint64_t intervals = 0;
  Nanos before_ns = 0;
  Nanos observed_ns = 0;
  Nanos runqueue_ns = 0;
  Nanos unsplit_ns = 0;
  Nanos max_ns = 0;
  SmallHistogram when;
  SmallHistogram lengths;

  // Spreads [from, to), counted from the window's start, over buckets of the width given by
  // `shift`, which never shrinks and is large enough for `to`.
  void AddWhen(Nanos from, Nanos to, unsigned shift) {
    when.Fold(shift - when_shift);
    when_shift = shift;
    const Nanos width = kMinWhenBucket << shift;
    for (auto bucket = static_cast<uint32_t>((from / kMinWhenBucket) >> shift); from < to;
         ++bucket) {
      const Nanos end = std::min(to, (bucket + 1) * width);
      when.Add(bucket, end - from);
      from = end;
    }
  }
};

}  // namespace offcpu::profile
