// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace offcpu::output {

// Times for people: three significant digits with ns, us, ms or s: "1.23 ms", "45.0 s"; from 1000 s
// on whole seconds.
std::string FormatDuration(Nanos duration);

// "12.3 %" of `whole`; "<0.1 %" for what rounds to nothing and is not; "-" when whole is 0.
std::string FormatShare(uint64_t part, uint64_t whole);

// "1 interval", "2 intervals"; `plural` ends in s, and in sses where the singular has ss.
std::string Counted(uint64_t count, std::string_view plural);

// Names from other programs, safe on a terminal: control characters (C0, DEL, C1) and invalid UTF-8
// become \xNN, byte by byte.
std::string Printable(std::string_view text);

// Columns that printable text takes, one a character.
size_t DisplayWidth(std::string_view printable);

}  // namespace offcpu::output
