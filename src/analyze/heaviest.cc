// SPDX-License-Identifier: MIT
#include "analyze/heaviest.h"

#include <algorithm>

namespace offcpu::analyze {

std::vector<HeavyStack> HeaviestStacks(const profile::Profile& profile, size_t count) {
  // In a canonical profile the entries of a pair of stacks stand together.
  std::vector<HeavyStack> stacks;
  for (const profile::Entry& entry : profile.entries) {
    if (stacks.empty() || stacks.back().user_stack != entry.user_stack ||
        stacks.back().kernel_stack != entry.kernel_stack) {
      stacks.push_back({entry.user_stack, entry.kernel_stack, 0, 0, 0});
    }
    HeavyStack& stack = stacks.back();
    stack.intervals += entry.intervals;
    stack.ns += entry.observed_ns;
    stack.max_ns = std::max(stack.max_ns, entry.max_ns);
  }
  std::stable_sort(stacks.begin(), stacks.end(),
                   [](const HeavyStack& a, const HeavyStack& b) { return a.ns > b.ns; });
  stacks.resize(std::min(count, stacks.size()));
  return stacks;
}

}  // namespace offcpu::analyze
