// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "profile/profile.h"
#include "record/options.h"

namespace offcpu::record {

struct ImportOptions {
  std::string file;  // "-": standard input
  Selection selection;
  bool inlines = true;
  std::string below;         // files of the recording's machine lie below it; may be ""
  std::string kallsyms;      // of the recording's kernel; may be ""
  std::string formats;       // of a folder of trace pages: where the event formats are; may be ""
  std::string command_line;  // for the profile
};

struct Imported {
  profile::Profile profile;
  bool whole = true;  // false: the recording is damaged, and the profile has what was readable
};

// Makes a profile of a recording that another program made, by the same stages as a live one.
Result<Imported> Import(const ImportOptions& options);

}  // namespace offcpu::record
