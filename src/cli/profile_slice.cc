// SPDX-License-Identifier: MIT
#include "cli/profile_slice.h"

#include <string>
#include <utility>
#include <vector>

#include "analyze/frame_text.h"

namespace offcpu::cli {

Result<ProfileSlice> ReadSlice(const ProfileInput& input, const SelectionOptions& selection,
                               const SliceArguments& arguments) {
  Result<analyze::Selection> selected = MakeSelection(selection);
  if (!selected) return selected.error();
  Result<profile::Profile> profile = ReadInput(input);
  if (!profile) return profile.error();
  Result<analyze::SliceOptions> options = MakeSliceOptions(arguments, *profile);
  if (!options) return options.error();
  const std::vector<std::string> texts = analyze::FrameTexts(*profile);
  Result<analyze::Filter> filter = analyze::Filter::Create(*profile, texts, *selected);
  if (!filter) return filter.error();
  Result<analyze::Slice> slice = analyze::BuildSlice(*profile, texts, *filter, *options);
  if (!slice) return slice.error();
  return ProfileSlice{std::move(*profile), *options, std::move(*slice)};
}

}  // namespace offcpu::cli
