// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "base/files.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/command_line.h"
#include "cli/exit_code.h"
#include "cli/forecast_text.h"
#include "cli/record_arguments.h"
#include "output/digest.h"
#include "profile/profile_file.h"
#include "profile/validate.h"
#include "record/forecast.h"
#include "record/recorder.h"

namespace offcpu::cli {
namespace {

Result<int> RunDry(const record::Options& options) {
  const auto forecast = record::MakeForecast(options);
  if (!forecast) return forecast.error();
  auto out = OutputFile::Create("-", /*force=*/false);
  if (!out) return out.error();
  if (auto written = out->Write(ForecastText(*forecast)); !written) return written.error();
  return kExitDone;
}

Result<int> RunRecord(const RecordArguments& arguments) {
  if (arguments.quiet) SetLogLevel(LogLevel::kQuiet);
  if (arguments.verbose) SetLogLevel(LogLevel::kVerbose);
  auto recording_options = MakeRecordOptions(arguments);
  if (!recording_options) return recording_options.error();
  if (arguments.dry_run) return RunDry(*recording_options);
  recording_options->command_line = OwnCommandLine();
  if (arguments.output == "-" && ::isatty(STDOUT_FILENO) == 1) {
    return UsageError("a profile is binary: give --output FILE, or send it to a pipe");
  }
  // Before the recording, so that nobody waits for a file that can't be written.
  auto file = OutputFile::Create(arguments.output, arguments.force);
  if (!file) return file.error();

  record::Recorder recorder(std::move(*recording_options));
  auto recording = recorder.Run();
  if (!recording) {
    if (!recorder.exec_failure()) return recording.error();
    LogWarning(recording.error().message);
    return *recorder.exec_failure();
  }
  // Law 1 and the rest, before anyone relies on it.
  if (auto valid = profile::ValidateProfile(recording->profile); !valid) return valid.error();
  if (auto written = file->Write(profile::SerializeProfile(recording->profile)); !written) {
    return written.error();
  }
  if (auto committed = file->Commit(); !committed) return committed.error();
  if (!arguments.quiet) {
    std::cerr << output::DigestText(recording->profile);
    if (arguments.output != "-") {
      std::cerr << "Written to " << arguments.output << "; look at it with: offcpu top "
                << arguments.output << '\n';
    }
  }
  const int status = recording->profile.lost_events == 0 ? kExitDone : kExitIncomplete;
  if (arguments.command.empty()) return status;
  if (recording->command_status) return *recording->command_status;
  LogInfo("the recording has ended, the command has not; waiting for its status (Ctrl-C gives up)");
  return recorder.WaitForCommand();
}

}  // namespace

Command AddRecord(CLI::App& app) {
  CLI::App* command = app.add_subcommand("record", "Record where threads wait");
  auto arguments = std::make_shared<RecordArguments>();
  AddRecordArguments(*command, *arguments);
  return {command, [arguments] { return RunRecord(*arguments); }};
}

}  // namespace offcpu::cli
