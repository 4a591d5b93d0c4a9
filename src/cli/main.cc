// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "base/files.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/usage_error.h"

namespace offcpu::cli {
namespace {

constexpr char kVersion[] = "offcpu " OFFCPU_VERSION;
constexpr AddCommand kCommands[] = {AddRecord,  AddImport, AddStacks, AddFlamegraph, AddTop,
                                    AddThreads, AddInfo,   AddDump,   AddDoctor};

int Report(const Error& error) {
  std::cerr << "offcpu: " << OneLine(error.message) << '\n';
  if (!error.hint.empty()) std::cerr << "hint: " << OneLine(error.hint) << '\n';
  return ExitCodeFor(error.code);
}

int ReportUsage(const std::string& name, const std::string& message, const std::string& hint = {}) {
  std::cerr << name << ": " << message << '\n';
  if (!hint.empty()) std::cerr << "hint: " << hint << '\n';
  std::cerr << "Try '" << name << " --help'.\n";
  return kExitUsage;
}

int PrintToStandardOutput(const std::string& text) {
  Result<OutputFile> output = OutputFile::Create("-", /*force=*/false);
  if (!output) return Report(output.error());
  const Result<void> written = output->Write(text);
  return written ? kExitDone : Report(written.error());
}

// CLI11's exceptions stop here: help and version go to standard output, the rest is one line.
int ReportParse(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) {
    std::ostringstream text;
    app.exit(error, text, text);
    return PrintToStandardOutput(CLI::detail::find_and_replace(text.str(), "\n\n\n", "\n\n"));
  }
  std::string name = "offcpu";
  for (const CLI::App* command : app.get_subcommands()) name += " " + command->get_name();
  return ReportUsage(name, DescribeUsageError(app, error));
}

std::vector<Command> AddCommands(CLI::App& app) {
  app.set_version_flag("--version", kVersion, "Print the version");
  app.set_help_flag("-h,--help", "Print this help");
  app.require_subcommand(0, 1);
  app.get_formatter()->column_width(32);
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.get_formatter()->label("SUBCOMMANDS", "COMMAND");

  std::vector<Command> commands;
  for (AddCommand add : kCommands) {
    Command& command = commands.emplace_back(add(app));
    command.app->group("Commands");
    command.app->set_version_flag("--version", kVersion, "Print the version");
    command.app->footer("Manual: man offcpu-" + command.app->get_name());
  }
  app.footer("Start with: offcpu record -p PID -d 10; offcpu top offcpu.pb\nManual: man offcpu");
  return commands;
}

int Run(int argc, char** argv) {
  CLI::App app{"Off-CPU profiler: where threads wait, for how long and why.", "offcpu"};
  const std::vector<Command> commands = AddCommands(app);
  // The name of an unknown command must stand in the message, so it is looked for by hand.
  const auto is_first = [&](const Command& command) { return command.app->get_name() == argv[1]; };
  if (argc > 1 && argv[1][0] != '-' && std::ranges::none_of(commands, is_first)) {
    return ReportUsage("offcpu", "'" + OneLine(argv[1]) + "' is not a command");
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return ReportParse(app, error);
  }
  for (const Command& command : commands) {
    if (!command.app->parsed()) continue;
    const Result<int> status = command.action();
    if (status) return *status;
    if (status.error().code != ErrorCode::kUsage) return Report(status.error());
    return ReportUsage("offcpu " + command.app->get_name(), OneLine(status.error().message),
                       OneLine(status.error().hint));
  }
  return ReportUsage("offcpu", "no command given");
}

// A descriptor 0-2 that the caller closed would be given to the next file opened, and messages
// would end up in it.
void OccupyStandardDescriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", O_RDONLY) != fd) std::_Exit(kExitFailed);
  }
}

}  // namespace
}  // namespace offcpu::cli

int main(int argc, char** argv) {
  offcpu::cli::OccupyStandardDescriptors();
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of write(), handled where it happens
  try {
    return offcpu::cli::Run(argc, argv);
  } catch (const std::exception& error) {  // a library's, out of memory for instance
    std::cerr << "offcpu: " << offcpu::cli::OneLine(error.what()) << '\n';
    return offcpu::cli::kExitFailed;
  }
}
