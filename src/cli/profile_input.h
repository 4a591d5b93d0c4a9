// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/result.h"
#include "profile/profile.h"

// What the commands over a profile have in common: which file, in which form, where to.
namespace offcpu::cli {

struct ProfileInput {
  std::string file = "offcpu.pb";  // "-": standard input
  std::string format = "text";
  std::string output = "-";  // "-": standard output
  bool force = false;
};

// Declares FILE, --format with `formats` as its choices (the first is the default; none: no such
// option), --output, --force and --quiet. `input` must outlive the App.
void AddProfileInput(CLI::App& app, ProfileInput& input, const std::vector<std::string>& formats);

// The profile; an error says what to do when there is no file yet.
Result<profile::Profile> ReadInput(const ProfileInput& input);

// Writes a whole result. A closed pipe is no error.
Result<void> WriteResult(const ProfileInput& input, std::string_view bytes);

// Whether the result goes to a terminal.
bool IsTerminal(const ProfileInput& input);

}  // namespace offcpu::cli
