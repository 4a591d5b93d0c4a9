// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "model/ids.h"
#include "profile/profile.h"

namespace offcpu::analyze {

// The loss spans of one CPU that begin in one second of the window.
struct LossSecond {
  model::Cpu cpu = 0;
  uint64_t second = 0;
  uint64_t spans = 0;
  uint64_t events = 0;
  Nanos ns = 0;  // sum of their lengths
};

// What a profile holds, counted.
struct Overview {
  Nanos lossy_ns = 0;                    // part of the window in which at least one CPU lost events
  std::vector<LossSecond> loss_seconds;  // by CPU, then second
  uint64_t kept_intervals = 0;           // in entries
  Nanos kept_ns = 0;
  uint64_t left_open = 0;
  uint64_t right_open = 0;
  Nanos truncated_ns = 0;      // of kept_ns: with a truncated stack
  Nanos no_user_stack_ns = 0;  // of kept_ns: without the user stack that the thread has
  Nanos no_kernel_stack_ns = 0;
  uint64_t threads = 0;  // ended ones that share a row included
  uint64_t processes = 0;
  Nanos thread_ns = 0;       // sum of the threads' lives in the window
  Nanos unknown_ns = 0;      // of thread_ns
  uint64_t user_stacks = 0;  // different ones
  uint64_t kernel_stacks = 0;
};

Overview OverviewOf(const profile::Profile& profile);

}  // namespace offcpu::analyze
