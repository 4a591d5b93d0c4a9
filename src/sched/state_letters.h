// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace offcpu::sched {

// model::TaskState bits as text: "R" for none, else the letters from the lowest bit up, joined by
// "|" ("S", "D|K"); "?" stands for all bits without a letter.
std::string StateLetters(uint32_t task_state);

// Which task states a user wants to see.
class StateFilter {
 public:
  // Matches everything.
  StateFilter() = default;

  // Letters of R S D T t X Z P I K W, side by side or with commas between them; kUsage otherwise,
  // naming what is wrong and what is allowed.
  static Result<StateFilter> Parse(std::string_view letters);

  // True when the state has one of the letters: D matches D and D|K. I is a state of its own;
  // kernels before 4.14 show it as D|N, which therefore counts as I and not as D. R matches the
  // running state, and all that was preempted: the mark wins over the state. What has no letter
  // is matched by none.
  bool Matches(uint32_t task_state, bool preempted) const;

  // No letter was given.
  bool matches_all() const { return any_; }

 private:
  bool any_ = true;
  bool running_ = false;
  uint32_t bits_ = 0;
};

}  // namespace offcpu::sched
