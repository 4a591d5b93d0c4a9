// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "profile/profile.h"

namespace offcpu::output {

// The summary that ends a recording: window and target, threads, time by reason, the five heaviest
// stacks, what is missing.
std::string DigestText(const profile::Profile& profile);

}  // namespace offcpu::output
