// SPDX-License-Identifier: MIT
#include <memory>

#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/profile_input.h"
#include "output/info_report.h"

namespace offcpu::cli {
namespace {

Result<int> RunInfo(const ProfileInput& input) {
  Result<profile::Profile> profile = ReadInput(input);
  if (!profile) return profile.error();
  Result<void> written = WriteResult(
      input, input.format == "json" ? output::InfoJson(*profile) : output::InfoText(*profile));
  if (!written) return written.error();
  return kExitDone;
}

}  // namespace

Command AddInfo(CLI::App& app) {
  CLI::App* command = app.add_subcommand("info", "What is in a profile, losses first");
  auto input = std::make_shared<ProfileInput>();
  AddProfileInput(*command, *input, {"text", "json"});
  return {command, [input] { return RunInfo(*input); }};
}

}  // namespace offcpu::cli
