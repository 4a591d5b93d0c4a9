// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "profile/profile.h"

namespace offcpu::analyze {

// All time under one pair of stacks.
struct HeavyStack {
  profile::NodeId user_stack = 0;
  profile::NodeId kernel_stack = 0;
  uint64_t intervals = 0;
  Nanos ns = 0;  // observed
  Nanos max_ns = 0;
};

// The `count` pairs of stacks with the most observed time, by time descending, then in the order of
// the profile. Unlike Rank() it makes no text, so it is cheap enough for the end of a recording.
std::vector<HeavyStack> HeaviestStacks(const profile::Profile& profile, size_t count);

}  // namespace offcpu::analyze
