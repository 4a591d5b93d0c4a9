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
#include "cli/import_info.h"
#include "cli/keep_options.h"
#include "output/digest.h"
#include "profile/profile_file.h"
#include "profile/validate.h"
#include "record/importer.h"
#include "source/replay/open.h"

namespace offcpu::cli {
namespace {

struct ImportArguments {
  std::string file;
  std::string output = "offcpu.pb";
  bool force = false;
  bool info = false;
  std::string format = "text";
  KeepArguments keep;
  std::string inlines = "on";
  std::string kallsyms;
  std::string symfs;
  std::string formats;
  bool quiet = false;
  bool verbose = false;
};

Result<int> RunInfo(const ImportArguments& arguments) {
  auto info = source::replay::DescribeRecording(arguments.file, arguments.formats);
  if (!info) return info.error();
  auto out = OutputFile::Create("-", /*force=*/false);
  if (!out) return out.error();
  const auto written =
      out->Write(arguments.format == "json" ? ImportInfoJson(*info) : ImportInfoText(*info));
  if (!written) return written.error();
  return info->damages.empty() ? kExitDone : kExitIncomplete;
}

Result<int> RunImport(const ImportArguments& arguments) {
  if (arguments.quiet) SetLogLevel(LogLevel::kQuiet);
  if (arguments.verbose) SetLogLevel(LogLevel::kVerbose);
  if (arguments.info) return RunInfo(arguments);
  if (arguments.output == "-" && ::isatty(STDOUT_FILENO) == 1) {
    return UsageError("a profile is binary: give --output FILE, or send it to a pipe");
  }
  // Before the work, so that nobody waits for a file that can't be written.
  auto file = OutputFile::Create(arguments.output, arguments.force);
  if (!file) return file.error();
  record::ImportOptions options;
  options.file = arguments.file;
  options.selection = MakeKeptSelection(arguments.keep);
  options.inlines = arguments.inlines == "on";
  options.below = arguments.symfs;
  options.kallsyms = arguments.kallsyms;
  options.formats = arguments.formats;
  options.command_line = OwnCommandLine();
  auto imported = record::Import(options);
  if (!imported) return imported.error();
  const profile::Profile& profile = imported->profile;
  if (auto valid = profile::ValidateProfile(profile); !valid) return valid.error();
  for (const std::string& warning : profile.warnings) LogWarning(warning);
  if (auto written = file->Write(profile::SerializeProfile(profile)); !written) {
    return written.error();
  }
  if (auto committed = file->Commit(); !committed) return committed.error();
  if (!arguments.quiet) {
    std::cerr << output::DigestText(profile);
    if (arguments.output != "-") {
      std::cerr << "Written to " << arguments.output << "; look at it with: offcpu top "
                << arguments.output << '\n';
    }
  }
  return imported->whole && profile.lost_events == 0 ? kExitDone : kExitIncomplete;
}

void AddSymbolOptions(CLI::App& command, ImportArguments& arguments) {
  constexpr const char* kGroup = "Names";
  command.add_option("--kallsyms", arguments.kallsyms, "Functions of the recorded kernel")
      ->type_name("FILE")
      ->group(kGroup);
  command.add_option("--symfs", arguments.symfs, "Files of the recorded machine lie below it")
      ->type_name("DIRECTORY")
      ->group(kGroup);
  command.add_option("--inline", arguments.inlines, "Show inlined functions: on or off")
      ->type_name("WORD")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str()
      ->group(kGroup);
}

void AddOutputOptions(CLI::App& command, ImportArguments& arguments) {
  constexpr const char* kGroup = "Output";
  command.add_option("-o,--output", arguments.output, "Profile to write; - is standard output")
      ->type_name("FILE")
      ->capture_default_str()
      ->group(kGroup);
  command.add_flag("--force", arguments.force, "Overwrite an existing FILE")->group(kGroup);
  command.add_flag("--info", arguments.info, "Write no profile: tell what the recording holds")
      ->group(kGroup);
  command.add_option("--format", arguments.format, "Of --info: text or json")
      ->type_name("WORD")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str()
      ->group(kGroup);
  command.add_flag("-q,--quiet", arguments.quiet, "No remarks, no digest")->group(kGroup);
  command.add_flag("-v,--verbose", arguments.verbose, "Tell what is being done")
      ->excludes("--quiet")
      ->group(kGroup);
}

}  // namespace

Command AddImport(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("import", "Make a profile of what another program recorded");
  auto arguments = std::make_shared<ImportArguments>();
  command->add_option("FILE", arguments->file, "Recording to read; - is standard input")
      ->required()
      ->type_name("");
  command
      ->add_option("--formats", arguments->formats,
                   "Of a folder of trace pages: the event formats are below it, in 'events'")
      ->type_name("DIRECTORY");
  AddKeepOptions(*command, arguments->keep);
  AddSymbolOptions(*command, *arguments);
  AddOutputOptions(*command, *arguments);
  return {command, [arguments] { return RunImport(*arguments); }};
}

}  // namespace offcpu::cli
