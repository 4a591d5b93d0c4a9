// SPDX-License-Identifier: MIT
#include "kernel-compat/switch_filter.h"

#include <fmt/format.h>

namespace offcpu::kernel_compat {
namespace {

// A test of prev_state and its exact opposite.
struct Test {
  std::string wanted;
  std::string other;
};

// At least one reason is wanted and at least one isn't; `mark` is the preempt mark.
Test StateTest(WantedReasons wanted, uint64_t mark) {
  const std::string below = fmt::format("prev_state < {}", mark);
  const std::string marked = fmt::format("prev_state >= {}", mark);
  const std::string zero = "prev_state == 0";
  const std::string nonzero = "prev_state != 0";
  Test blocked{nonzero + " && " + below, zero + " || " + marked};
  Test runnable{zero, nonzero};
  Test preempted{marked, below};
  const auto except = [](const Test& test) { return Test{test.other, test.wanted}; };
  if (wanted.blocked && wanted.runnable) return except(preempted);
  if (wanted.blocked && wanted.preempted) return except(runnable);
  if (wanted.runnable && wanted.preempted) return except(blocked);
  if (wanted.blocked) return blocked;
  if (wanted.runnable) return runnable;
  return preempted;
}

// Without a mark nothing is preempted, and what is not blocked is runnable.
Test UnmarkedStateTest(WantedReasons wanted) {
  if (wanted.blocked) return {"prev_state != 0", "prev_state == 0"};
  return {"prev_state == 0", "prev_state != 0"};
}

}  // namespace

SwitchFilters MakeSwitchFilters(const StateDecoder& states, WantedReasons wanted) {
  const bool marked = states.has_preempt_mark();
  if (!marked) wanted.preempted = wanted.blocked && wanted.runnable;
  if (!wanted.blocked && !wanted.runnable && !wanted.preempted) return {};
  if (wanted.blocked && wanted.runnable && wanted.preempted) {
    return {"prev_pid != 0", "prev_pid == 0"};
  }
  const Test test = marked ? StateTest(wanted, states.preempt_mark()) : UnmarkedStateTest(wanted);
  return {fmt::format("prev_pid != 0 && ({})", test.wanted),
          fmt::format("prev_pid == 0 || ({})", test.other)};
}

}  // namespace offcpu::kernel_compat
