// SPDX-License-Identifier: MIT
#include "cli/profile_input.h"

#include <unistd.h>

#include "base/files.h"
#include "base/log.h"
#include "profile/profile_file.h"

namespace offcpu::cli {

void AddProfileInput(CLI::App& app, ProfileInput& input, const std::vector<std::string>& formats) {
  app.add_option("FILE", input.file, "Profile to read; - is standard input")->capture_default_str();
  if (!formats.empty()) {
    input.format = formats.front();
    app.add_option("--format", input.format, "Form of the result")
        ->check(CLI::IsMember(formats))
        ->type_name("FORMAT")
        ->capture_default_str()
        ->group("Output");
  }
  app.add_option("-o,--output", input.output, "Write to FILE; - is standard output")
      ->type_name("FILE")
      ->group("Output");
  app.add_flag("--force", input.force, "Overwrite an existing FILE")->group("Output");
  app.add_flag_callback(
         "-q,--quiet", [] { SetLogLevel(LogLevel::kQuiet); }, "No remarks on standard error")
      ->group("Output");
}

Result<profile::Profile> ReadInput(const ProfileInput& input) {
  Result<profile::Profile> profile = profile::ReadProfileFile(input.file);
  if (profile || !profile.error().hint.empty()) return profile;
  if (input.file != "-" && ::access(input.file.c_str(), F_OK) != 0) {
    return profile.error().WithHint("record one with: offcpu record -p PID -d 10");
  }
  return profile;
}

Result<void> WriteResult(const ProfileInput& input, std::string_view bytes) {
  Result<OutputFile> file = OutputFile::Create(input.output, input.force);
  if (!file) return file.error();
  if (Result<void> written = file->Write(bytes); !written) return written;
  return file->Commit();
}

bool IsTerminal(const ProfileInput& input) {
  return input.output == "-" && ::isatty(STDOUT_FILENO) == 1;
}

}  // namespace offcpu::cli
