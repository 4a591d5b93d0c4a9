// SPDX-License-Identifier: MIT
#include "cli/keep_options.h"

#include <algorithm>

#include "base/parse.h"
#include "cli/validators.h"
#include "sched/state_letters.h"

namespace offcpu::cli {

void AddKeepOptions(CLI::App& command, KeepArguments& arguments) {
  constexpr const char* kGroup = "What to keep (the rest is counted)";
  command.add_option("--reasons", arguments.reasons, "Of blocked,runnable,preempted, or all")
      ->allow_extra_args(false)
      ->delimiter(',')
      ->type_name("LIST")
      ->check(CLI::IsMember({"all", "blocked", "runnable", "preempted"}))
      ->capture_default_str()
      ->group(kGroup);
  command.add_option("--min-off-cpu", arguments.min_off_cpu, "Only longer intervals, as in 50us")
      ->type_name("TIME")
      ->check(Checked(ParseDuration))
      ->group(kGroup);
  command.add_option("--max-off-cpu", arguments.max_off_cpu, "Only shorter intervals")
      ->type_name("TIME")
      ->check(Checked(ParseDuration))
      ->group(kGroup);
  command.add_option("--state", arguments.states, "Only these task states, as in D")
      ->type_name("LETTERS")
      ->check(Checked(sched::StateFilter::Parse))
      ->group(kGroup);
  command.add_flag("--user-threads", arguments.user_threads, "Only threads of programs")
      ->group(kGroup);
  command.add_flag("--kernel-threads", arguments.kernel_threads, "Only threads of the kernel")
      ->group(kGroup);
}

record::Selection MakeKeptSelection(const KeepArguments& arguments) {
  const auto wants = [&](const char* reason) {
    return std::find(arguments.reasons.begin(), arguments.reasons.end(), reason) !=
           arguments.reasons.end();
  };
  record::Selection selection;
  selection.blocked = wants("blocked") || wants("all");
  selection.runnable = wants("runnable") || wants("all");
  selection.preempted = wants("preempted") || wants("all");
  if (!arguments.min_off_cpu.empty()) selection.min_off_cpu = *ParseDuration(arguments.min_off_cpu);
  if (!arguments.max_off_cpu.empty()) selection.max_off_cpu = *ParseDuration(arguments.max_off_cpu);
  if (!arguments.states.empty()) selection.states = *sched::StateFilter::Parse(arguments.states);
  if (arguments.user_threads || arguments.kernel_threads) {
    selection.user_threads = arguments.user_threads;
    selection.kernel_threads = arguments.kernel_threads;
  }
  return selection;
}

}  // namespace offcpu::cli
