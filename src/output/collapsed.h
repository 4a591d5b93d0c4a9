// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string_view>

#include "analyze/slice.h"
#include "base/clock.h"
#include "base/result.h"

namespace offcpu::output {

enum class Unit { kMicros, kNanos };

// Microseconds, rounded half up; at least 1 for any time at all.
constexpr uint64_t ToMicros(Nanos ns) {
  if (ns == 0) return 0;
  const uint64_t micros = ns / 1000 + (ns % 1000 >= 500 ? 1 : 0);
  return micros == 0 ? 1 : micros;
}

using WriteText = std::function<Result<void>(std::string_view)>;

// "a;b;c 1234" a line, in the slice's order. `for_terminal` makes control characters harmless
// (terminal.h); otherwise all bytes of a name stay. Deep stacks make megabytes, so `write` gets
// them in pieces; its error ends the writing.
Result<void> WriteCollapsed(const analyze::Slice& slice, Unit unit, bool for_terminal,
                            const WriteText& write);

}  // namespace offcpu::output
