// SPDX-License-Identifier: MIT
#include "analyze/wait_place.h"

#include <algorithm>
#include <array>

namespace offcpu::analyze {
namespace {

// Linux 3.0 to 6.x, sorted by byte.
constexpr std::array<std::string_view, 44> kSchedulerFunctions{
    "___preempt_schedule",
    "___preempt_schedule_notrace",
    "__cond_resched",
    "__cond_resched_lock",
    "__schedule",
    "__schedule_loop",
    "__wait_for_common",
    "__wait_on_bit",
    "__wait_on_bit_lock",
    "_cond_resched",
    "bit_wait",
    "bit_wait_io",
    "bit_wait_io_timeout",
    "bit_wait_timeout",
    "do_wait_for_common",
    "dynamic_cond_resched",
    "io_schedule",
    "io_schedule_timeout",
    "out_of_line_wait_on_bit",
    "out_of_line_wait_on_bit_lock",
    "preempt_schedule",
    "preempt_schedule_common",
    "preempt_schedule_irq",
    "preempt_schedule_notrace",
    "preempt_schedule_notrace_thunk",
    "preempt_schedule_thunk",
    "schedule",
    "schedule_hrtimeout",
    "schedule_hrtimeout_range",
    "schedule_hrtimeout_range_clock",
    "schedule_preempt_disabled",
    "schedule_rtlock",
    "schedule_timeout",
    "schedule_timeout_idle",
    "schedule_timeout_interruptible",
    "schedule_timeout_killable",
    "schedule_timeout_uninterruptible",
    "wait_for_common",
    "wait_for_common_io",
    "wait_for_completion",
    "wait_for_completion_interruptible",
    "wait_for_completion_killable",
    "wait_for_completion_state",
    "wait_for_completion_timeout",
};
static_assert(std::is_sorted(kSchedulerFunctions.begin(), kSchedulerFunctions.end()));

constexpr std::array<std::string_view, 10> kRuntimeLibraries{
    "ld-",     "ld.so",       "libc++.so",   "libc++abi.so",  "libc-",
    "libc.so", "libgcc_s.so", "libpthread-", "libpthread.so", "libstdc++.so"};

profile::FrameId KernelPlace(const profile::Profile& profile, profile::NodeId leaf) {
  for (profile::NodeId node = leaf; node != 0; node = profile.nodes[node].parent) {
    const profile::FrameId id = profile.nodes[node].frame;
    if (!IsSchedulerFunction(profile.String(profile.frames[id].name))) return id;
  }
  return profile.nodes[leaf].frame;
}

profile::FrameId Caller(const profile::Profile& profile, profile::NodeId leaf) {
  for (profile::NodeId node = leaf; node != 0; node = profile.nodes[node].parent) {
    const profile::FrameId id = profile.nodes[node].frame;
    if (IsRuntimeLibrary(profile.String(profile.frames[id].module))) continue;
    return node == leaf ? 0 : id;
  }
  return 0;
}

}  // namespace

bool IsSchedulerFunction(std::string_view name) {
  name = name.substr(0, std::min(name.find('.'), name.find("+0x")));
  return std::binary_search(kSchedulerFunctions.begin(), kSchedulerFunctions.end(), name);
}

bool IsRuntimeLibrary(std::string_view module) {
  module.remove_prefix(module.rfind('/') + 1);  // npos + 1 is 0
  if (module == "[vdso]") return true;
  return std::any_of(kRuntimeLibraries.begin(), kRuntimeLibraries.end(),
                     [module](std::string_view prefix) { return module.starts_with(prefix); });
}

WaitPlace WaitPlaceOf(const profile::Profile& profile, const profile::Entry& entry) {
  WaitPlace place;
  place.kernel = KernelPlace(profile, entry.kernel_stack);
  place.user = profile.nodes[entry.user_stack].frame;
  place.caller = Caller(profile, entry.user_stack);
  return place;
}

}  // namespace offcpu::analyze
