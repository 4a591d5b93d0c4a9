// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "kernel-compat/task_state.h"

namespace offcpu::kernel_compat {

struct WantedReasons {
  bool blocked = false;
  bool runnable = false;
  bool preempted = false;
};

// Filters of two events on sched:sched_switch, for PERF_EVENT_IOC_SET_FILTER or tracefs. Whatever a
// switch holds, exactly one of the two matches it.
struct SwitchFilters {
  // Matches the switch-outs of the wanted reasons (model::ReasonOf) by other threads than the idle
  // task. Empty: no such event is to be opened, as none of the reasons is wanted or ever seen here.
  std::string stack;
  // All other switches. Empty: no filter is to be set.
  std::string rest;
};

// Made of comparisons only: each has an exact complement in every kernel's filter language, which
// "prev_state & 255" has only with "!". Comparing finds the mark because it is the highest bit that
// prev_state can have. Values above twice the mark or below zero, which no correct kernel writes,
// may go to the wrong one of the two events, but never to both or to none.
SwitchFilters MakeSwitchFilters(const StateDecoder& states, WantedReasons wanted);

}  // namespace offcpu::kernel_compat
