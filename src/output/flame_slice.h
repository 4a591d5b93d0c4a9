// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "analyze/slice.h"
#include "output/flame_tree.h"
#include "output/flamegraph.h"
#include "profile/profile.h"

namespace offcpu::output {

// The lines of a slice as a tree. Its texts are those of `slice`, which must outlive it.
FlameTree TreeOfSlice(const analyze::Slice& slice);

// What stands around the picture of a slice of `profile`: title, subtitle, what the widths mean,
// all that is missing with its count and time, and why nothing is drawn where nothing is. The rest
// of the options is left as it is by default.
FlamegraphOptions DescribeSlice(const profile::Profile& profile, const analyze::Slice& slice,
                                const analyze::SliceOptions& slice_options);

}  // namespace offcpu::output
