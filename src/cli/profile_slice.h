// SPDX-License-Identifier: MIT
#pragma once

#include "analyze/slice.h"
#include "base/result.h"
#include "cli/profile_input.h"
#include "cli/selection_options.h"
#include "profile/profile.h"

namespace offcpu::cli {

// A profile and the stacks of it that the command line asks for.
struct ProfileSlice {
  profile::Profile profile;
  analyze::SliceOptions options;
  analyze::Slice slice;
};

// Reads and slices; what is wrong with the command line alone is told before the file is read.
Result<ProfileSlice> ReadSlice(const ProfileInput& input, const SelectionOptions& selection,
                               const SliceArguments& arguments);

}  // namespace offcpu::cli
