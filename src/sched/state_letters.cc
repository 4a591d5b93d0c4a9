// SPDX-License-Identifier: MIT
#include "sched/state_letters.h"

#include <fmt/format.h>

#include "model/sched_event.h"

namespace offcpu::sched {
namespace {

// The bit that a letter selects, or 0. N only stands beside D, where it means I.
uint32_t BitOf(char letter) {
  for (const model::StateLetter& each : model::kStateLetters) {
    if (each.letter == letter && each.bit != model::kTaskNoLoad) return each.bit;
  }
  return 0;
}

std::string AllowedLetters() {
  std::string allowed = "R";
  for (const model::StateLetter& each : model::kStateLetters) {
    if (each.bit != model::kTaskNoLoad) allowed += fmt::format(" {}", each.letter);
  }
  return allowed;
}

}  // namespace

std::string StateLetters(uint32_t task_state) {
  if (task_state == model::kTaskRunning) return "R";
  std::string text;
  const auto append = [&text](char letter) {
    if (!text.empty()) text += '|';
    text += letter;
  };
  for (const model::StateLetter& each : model::kStateLetters) {
    if ((task_state & each.bit) != 0) append(each.letter);
    task_state &= ~uint32_t{each.bit};
  }
  if (task_state != 0) append('?');
  return text;
}

Result<StateFilter> StateFilter::Parse(std::string_view letters) {
  StateFilter filter;
  for (const char letter : letters) {
    if (letter == ',') continue;
    const uint32_t bit = BitOf(letter);
    if (letter != 'R' && bit == 0) {
      return UsageError(fmt::format("task states '{}': there is no state '{}'", letters, letter),
                        "the letters are " + AllowedLetters());
    }
    filter.any_ = false;
    filter.running_ = filter.running_ || letter == 'R';
    filter.bits_ |= bit;
  }
  if (filter.any_) {
    return UsageError(fmt::format("task states '{}': no letter is given", letters),
                      "the letters are " + AllowedLetters());
  }
  return filter;
}

bool StateFilter::Matches(uint32_t task_state, bool preempted) const {
  if (any_) return true;
  if (preempted || task_state == model::kTaskRunning) return running_;
  constexpr uint32_t kOldIdle = model::kTaskUninterruptible | model::kTaskNoLoad;
  if ((task_state & kOldIdle) == kOldIdle) {
    task_state = (task_state & ~kOldIdle) | model::kTaskIdle;
  }
  return (task_state & bits_) != 0;
}

}  // namespace offcpu::sched
