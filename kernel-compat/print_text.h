// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace offcpu::kernel_compat {

// What sched_switch's print text says about prev_state.
struct StateText {
  struct Letter {
    uint64_t bit = 0;  // exactly one bit
    char letter = 0;
    bool operator==(const Letter&) const = default;
  };
  uint64_t preempt_mark = 0;    // one bit above all letters', or 0: the text tests none
  std::vector<Letter> letters;  // by ascending bit, never empty
};

// `text` is what follows "print fmt:" in the event's format file: a string and C expressions, with
// the kernel's constants spelled out ("(((0x00000000 | 0x00000001 | ...) + 1) << 1)"). All of it is
// parsed, by precedence, and constants are worked out; the letters are those of __print_flags on
// prev_state, the preempt mark is the mask whose test yields "+". An error where the text isn't
// whole or says something else: half a text must not pass for one without a preempt mark.
Result<StateText> ReadStateText(std::string_view text);

}  // namespace offcpu::kernel_compat
