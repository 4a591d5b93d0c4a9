// SPDX-License-Identifier: MIT
#include <memory>
#include <string_view>

#include "base/files.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/profile_input.h"
#include "output/dump.h"

namespace offcpu::cli {
namespace {

Result<int> RunDump(const ProfileInput& input) {
  Result<profile::Profile> profile = ReadInput(input);
  if (!profile) return profile.error();
  Result<OutputFile> file = OutputFile::Create(input.output, input.force);
  if (!file) return file.error();
  const auto format =
      input.format == "json" ? output::DumpFormat::kJson : output::DumpFormat::kText;
  Result<void> done =
      output::Dump(*profile, format, [&file](std::string_view text) { return file->Write(text); });
  if (done) done = file->Commit();
  if (!done) return done.error();
  return kExitDone;
}

}  // namespace

Command AddDump(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("dump", "Every record of a profile, as text or JSON lines");
  auto input = std::make_shared<ProfileInput>();
  AddProfileInput(*command, *input, {"text", "json"});
  return {command, [input] { return RunDump(*input); }};
}

}  // namespace offcpu::cli
