// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "profile/profile.h"

namespace offcpu::analyze {

// The frames of an entry that say where it waited; 0 where there is no such frame.
struct WaitPlace {
  profile::FrameId kernel =
      0;  // leaf-most kernel frame that is not the scheduler's own: do_nanosleep
  profile::FrameId user = 0;  // leaf-most user frame: clock_nanosleep
  profile::FrameId caller =
      0;  // first frame above the run-time libraries; 0 when `user` is outside
};

WaitPlace WaitPlaceOf(const profile::Profile& profile, const profile::Entry& entry);

// schedule(), schedule_timeout() and the like: every wait goes through them, so they tell nothing.
// A compiler's suffix (".constprop.0") does not matter.
bool IsSchedulerFunction(std::string_view name);

// The C and C++ run-time libraries and the vdso, by file name.
bool IsRuntimeLibrary(std::string_view module);

}  // namespace offcpu::analyze
