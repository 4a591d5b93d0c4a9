// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "analyze/slice.h"
#include "profile/profile.h"

namespace offcpu::output {

// {"lines": [{"frames": [...], "ns", "intervals"}], "summary": {...}}; the keys are those of
// offcpu-stacks(1).
std::string SliceJson(const profile::Profile& profile, const analyze::Slice& slice,
                      const analyze::SliceOptions& options);

}  // namespace offcpu::output
