// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "model/ids.h"
#include "model/sched_event.h"

namespace offcpu::model {

// One thread's time off the CPU, clipped to the window of the recording.
struct Interval {
  ThreadRow thread = 0;
  Reason reason = Reason::kUnspecified;
  uint32_t task_state = 0;  // TaskState bits at the switch-out
  Nanos start = 0;          // the switch-out, or the start of the window when left_open
  Nanos end = 0;            // the switch-in, or the end of the window when right_open
  Nanos wakeup = 0;         // first sched_wakeup inside a blocked interval; 0: none was seen
  Nanos since = 0;          // left_open: when it really began, if known (approximate); else 0
  StackId kernel_stack = 0;
  StackId user_stack = 0;
  bool left_open = false;
  bool right_open = false;
  Comm comm{};  // the thread's name at the switch-out

  Nanos duration() const { return end - start; }
};

// Why an interval is not kept; the first rule that it breaks counts.
enum class Rejection : uint8_t {
  kReason,
  kMinimum,
  kMaximum,
  kState,
  kUserThread,
  kKernelThread,
};
constexpr size_t kRejections = 6;

// sleeping + runqueue + unsplit = duration, always (design.md, section 2).
struct TimeParts {
  Nanos sleeping = 0;
  Nanos runqueue = 0;
  Nanos unsplit = 0;
};

}  // namespace offcpu::model
