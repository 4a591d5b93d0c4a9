// SPDX-License-Identifier: MIT
#include "cli/record_arguments.h"

#include <unistd.h>

#include <climits>
#include <utility>

#include "base/parse.h"
#include "cli/validators.h"
#include "source/select.h"

namespace offcpu::cli {
namespace {

Result<record::Target> MakeTarget(const RecordArguments& arguments) {
  const int kinds = (arguments.pids.empty() ? 0 : 1) + (arguments.tids.empty() ? 0 : 1) +
                    (arguments.all ? 1 : 0) + (arguments.cgroup.empty() ? 0 : 1) +
                    (arguments.command.empty() ? 0 : 1);
  if (kinds == 0) {
    return UsageError("nothing to record: give --pid, --tid, --all, --cgroup, or -- COMMAND");
  }
  if (kinds > 1) {
    return UsageError("--pid, --tid, --all, --cgroup and -- COMMAND exclude each other");
  }
  record::Target target;
  using Kind = record::Target::Kind;
  target.kind = !arguments.pids.empty()    ? Kind::kProcesses
                : !arguments.tids.empty()  ? Kind::kThreads
                : arguments.all            ? Kind::kAll
                : arguments.cgroup.empty() ? Kind::kCommand
                                           : Kind::kCgroup;
  target.pids = arguments.pids;
  target.tids = arguments.tids;
  target.cgroup = arguments.cgroup;
  target.command = arguments.command;
  target.follow_children =
      arguments.follow || (target.kind == Kind::kCommand && !arguments.no_follow);
  return target;
}

std::vector<std::string> BackEndNames() {
  std::vector<std::string> names{"auto"};
  for (const source::BackEnd& back_end : source::BackEnds()) names.emplace_back(back_end.name);
  return names;
}

void AddTargetOptions(CLI::App& command, RecordArguments& arguments) {
  constexpr const char* kGroup = "What to record (one of them)";
  command.add_option("-p,--pid", arguments.pids, "Process, with all its threads; repeatable")
      ->allow_extra_args(false)
      ->delimiter(',')
      ->type_name("PID")
      ->check(CLI::Range(1, INT_MAX))
      ->group(kGroup);
  command.add_option("-t,--tid", arguments.tids, "Single thread; repeatable")
      ->allow_extra_args(false)
      ->delimiter(',')
      ->type_name("TID")
      ->check(CLI::Range(1, INT_MAX))
      ->group(kGroup);
  command.add_flag("-a,--all", arguments.all, "Everything")->group(kGroup);
  command.add_option("--cgroup", arguments.cgroup, "Processes in a cgroup and below it")
      ->type_name("DIRECTORY")
      ->group(kGroup);
  command.add_option("COMMAND", arguments.command, "Run it and record it from exec to exit")
      ->type_name("[-- COMMAND [ARGUMENT...]]")
      ->group(kGroup);
  command
      .add_flag("--follow", arguments.follow,
                "Record child processes too (of a COMMAND: the default)")
      ->group(kGroup);
  command.add_flag("--no-follow", arguments.no_follow, "Do not record a COMMAND's child processes")
      ->excludes("--follow")
      ->group(kGroup);
}

void AddRecordingOptions(CLI::App& command, RecordArguments& arguments) {
  constexpr const char* kGroup = "How to record";
  const auto on_off = CLI::IsMember({"on", "off"});
  command.add_option("-d,--duration", arguments.duration, "Stop after it, as in 10s or 500ms")
      ->type_name("TIME")
      ->check(Checked(ParseDuration))
      ->group(kGroup);
  command.add_option("--stacks", arguments.stacks, "user,kernel or user or kernel or none")
      ->type_name("LIST")
      ->check(CLI::IsMember({"user,kernel", "kernel,user", "user", "kernel", "none"}))
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--max-stack", arguments.max_stack, "Frames of a stack, user and kernel together")
      ->type_name("N")
      ->check(CLI::Range(1, 0xffff))
      ->group(kGroup);
  command.add_option("--inline", arguments.inlines, "Show inlined functions: on or off")
      ->type_name("WORD")
      ->check(on_off)
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--backend", arguments.backend, "Where events come from: auto, or one by name")
      ->type_name("NAME")
      ->check(CLI::IsMember(BackEndNames()))
      ->capture_default_str()
      ->group(kGroup);
  command.add_option("--sample-rate", arguments.sample_hz, "Looks a second of the back end proc")
      ->type_name("HZ")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str()
      ->group(kGroup);
  command.add_option("--buffer-size", arguments.buffer_size, "Ring of each CPU")
      ->type_name("SIZE")
      ->check(Checked(ParseSize))
      ->capture_default_str()
      ->group(kGroup);
  command.add_option("--time-split", arguments.time_split, "Record wake-ups: on or off")
      ->type_name("WORD")
      ->check(on_off)
      ->capture_default_str()
      ->group(kGroup);
}

void AddOutputOptions(CLI::App& command, RecordArguments& arguments) {
  constexpr const char* kGroup = "Output";
  command.add_option("-o,--output", arguments.output, "Profile to write; - is standard output")
      ->type_name("FILE")
      ->capture_default_str()
      ->group(kGroup);
  command.add_flag("--force", arguments.force, "Overwrite an existing FILE")->group(kGroup);
  command
      .add_flag("--dry-run", arguments.dry_run, "Record nothing: tell what it would cost, and how")
      ->group(kGroup);
  command.add_flag("-q,--quiet", arguments.quiet, "No progress, no digest")->group(kGroup);
  command.add_flag("-v,--verbose", arguments.verbose, "Tell what is being done")
      ->excludes("--quiet")
      ->group(kGroup);
}

}  // namespace

void AddRecordArguments(CLI::App& command, RecordArguments& arguments) {
  AddTargetOptions(command, arguments);
  AddKeepOptions(command, arguments.keep);
  AddRecordingOptions(command, arguments);
  AddOutputOptions(command, arguments);
}

Result<record::Options> MakeRecordOptions(const RecordArguments& arguments) {
  record::Options result;
  auto target = MakeTarget(arguments);
  if (!target) return target.error();
  result.target = std::move(*target);
  result.selection = MakeKeptSelection(arguments.keep);
  if (!arguments.duration.empty()) result.duration = *ParseDuration(arguments.duration);
  result.kernel_stacks = arguments.stacks.find("kernel") != std::string::npos;
  result.user_stacks = arguments.stacks.find("user") != std::string::npos;
  result.inlines = arguments.inlines == "on";
  result.time_split = arguments.time_split == "on";
  result.max_stack = arguments.max_stack;
  result.backend = arguments.backend;
  result.sample_hz = arguments.sample_hz;
  result.buffer_bytes = *ParseSize(arguments.buffer_size);
  result.progress = ::isatty(STDERR_FILENO) == 1 && !arguments.quiet;
  return result;
}

}  // namespace offcpu::cli
