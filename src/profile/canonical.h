// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "profile/profile.h"

namespace offcpu::profile {

constexpr size_t kMaxTextBytes = 65'536;

// Puts a profile into the one form that its content has (law 7): threads by first_ns, pid, tid
// (then names and numbers); equal entries merged; entries by user stack, kernel stack (frame by
// frame from the root: name, module, kind, inlined; absent first; shorter first), reason, state,
// thread, names; strings, frames and nodes numbered in the order in which threads (comm, process)
// and then entries (user stack, kernel stack, comm, process) first use them, unused ones gone.
// Texts longer than kMaxTextBytes are cut, time lines rounded (histogram.h). Counters, losses and
// warnings stay as they are. All ids must be valid, and parents of stack nodes come before their
// children.
Profile Canonicalize(Profile profile);

}  // namespace offcpu::profile
