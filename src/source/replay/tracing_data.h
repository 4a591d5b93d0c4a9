// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace offcpu::source::replay {

// The format text of one event, as tracefs had it on the recording's machine.
struct FormatText {
  std::string system;  // "sched"
  std::string name;    // "sched_switch"
  std::string text;
  uint64_t id = 0;  // perf_event_attr.config of the event
};

// The tracing data that perf keeps in a recording: formats of the events that were recorded, in a
// shortened form of trace-cmd's file header. Only those of `system` are returned. An error tells
// what is damaged.
Result<std::vector<FormatText>> ParseTracingData(std::span<const std::byte> data, bool swap,
                                                 std::string_view system);

}  // namespace offcpu::source::replay
