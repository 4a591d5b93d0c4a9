// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.h"
#include "profile/profile.h"

namespace offcpu::profile {

// Deeper stacks are cut by the builder and refused by the reader.
constexpr size_t kMaxStackDepth = 16'384;

// Whether a profile is whole: ids, sums and times agree (offcpu-profile(5), Rules) and its threads
// and entries are in the canonical order, each string, frame, stack and entry once. The error says
// what is wrong with which row, without naming a file.
Result<void> ValidateProfile(const Profile& profile);

}  // namespace offcpu::profile
