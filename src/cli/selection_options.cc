// SPDX-License-Identifier: MIT
#include "cli/selection_options.h"

#include <algorithm>
#include <array>
#include <climits>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "analyze/pattern.h"
#include "output/missing.h"
#include "output/terminal.h"
#include "sched/state_letters.h"

namespace offcpu::cli {
namespace {

constexpr const char* kSelectionGroup = "Selection";
constexpr const char* kStackGroup = "Stacks";

// A list option that takes one value a time and leaves the words after it alone.
template <class T>
CLI::Option* AddList(CLI::App& app, const char* name, std::vector<T>& values, const char* type,
                     const char* help) {
  return app.add_option(name, values, help)
      ->allow_extra_args(false)
      ->type_name(type)
      ->group(kSelectionGroup);
}

CLI::Option* AddChoice(CLI::App& app, const char* name, std::string& value,
                       const std::vector<std::string>& choices, const char* help) {
  return app.add_option(name, value, help)
      ->check(CLI::IsMember(choices))
      ->type_name("WORD")
      ->capture_default_str()
      ->group(kStackGroup);
}

Result<void> SelectReasons(const std::vector<std::string>& names, analyze::Selection& selection) {
  if (names == std::vector<std::string>{"all"}) return {};
  selection.reasons.fill(false);
  for (const std::string& name : names) {
    const auto place = std::find(model::kReasonNames.begin(), model::kReasonNames.end(), name);
    if (place == model::kReasonNames.end()) {
      return UsageError("--reason: 'all' stands alone");
    }
    bool& selected = selection.reasons[static_cast<size_t>(place - model::kReasonNames.begin())];
    if (selected) return UsageError("--reason: '" + name + "' is given twice");
    selected = true;
  }
  return {};
}

Result<void> AddPatterns(const std::vector<std::string>& texts, const char* option,
                         std::vector<analyze::Pattern>& patterns) {
  for (const std::string& text : texts) {
    Result<analyze::Pattern> pattern = analyze::Pattern::Compile(text);
    if (!pattern) return UsageError(std::string(option) + ": " + pattern.error().message);
    patterns.push_back(std::move(*pattern));
  }
  return {};
}

Result<void> AddPatternFiles(const std::vector<std::string>& paths,
                             std::vector<analyze::Pattern>& patterns) {
  for (const std::string& path : paths) {
    Result<std::vector<analyze::Pattern>> read = analyze::ReadPatternFile(path);
    if (!read) return read.error();
    std::ranges::move(*read, std::back_inserter(patterns));
  }
  return {};
}

const char* WhyNothing(const profile::Profile& profile, const analyze::SliceTotal& kept,
                       const analyze::SliceTotal& filtered) {
  if (profile.entries.empty()) return "the profile holds no interval";
  if (kept.intervals > 0) return "the intervals have no time of the part asked for";
  if (filtered.intervals > 0) return "the filters leave no interval";
  return "no interval has the reasons asked for";
}

// Position of `value` in `choices`; the option's check() made sure that it is there.
template <class Enum, size_t N>
Enum Choice(const std::string& value, const std::array<const char*, N>& choices) {
  const auto place = std::find(choices.begin(), choices.end(), value);
  return static_cast<Enum>(place - choices.begin());
}

}  // namespace

void AddSelectionOptions(CLI::App& app, SelectionOptions& options) {
  AddList(app, "--reason", options.reasons, "LIST", "Only these reasons, with commas")
      ->delimiter(',')
      ->check(CLI::IsMember({"all", "blocked", "runnable", "preempted"}));
  app.add_option("--state", options.states, "Only these task states, as in SD")
      ->type_name("LETTERS")
      ->group(kSelectionGroup);
  AddList(app, "--pid", options.pids, "PID", "Only threads of this process; repeatable")
      ->check(CLI::Range(0, INT_MAX));
  AddList(app, "--tid", options.tids, "TID", "Only this thread; repeatable")
      ->check(CLI::Range(1, INT_MAX));
  AddList(app, "--comm", options.comms, "REGEX", "Only threads of such a name; repeatable");
  AddList(app, "--include", options.include, "REGEX", "Only waits with such a frame; repeatable");
  AddList(app, "--exclude", options.exclude, "REGEX", "No waits with such a frame; repeatable");
  AddList(app, "--include-from", options.include_from, "FILE", "--include for each line of FILE");
  AddList(app, "--exclude-from", options.exclude_from, "FILE", "--exclude for each line of FILE");
}

Result<analyze::Selection> MakeSelection(const SelectionOptions& options) {
  analyze::Selection selection;
  if (!options.states.empty()) {
    Result<sched::StateFilter> states = sched::StateFilter::Parse(options.states);
    if (!states) return UsageError("--state: " + states.error().message);
    selection.states = *states;
  }
  selection.pids.assign(options.pids.begin(), options.pids.end());
  selection.tids.assign(options.tids.begin(), options.tids.end());
  Result<void> done = SelectReasons(options.reasons, selection);
  if (done) done = AddPatterns(options.comms, "--comm", selection.comms);
  if (done) done = AddPatterns(options.include, "--include", selection.include);
  if (done) done = AddPatterns(options.exclude, "--exclude", selection.exclude);
  if (done) done = AddPatternFiles(options.include_from, selection.include);
  if (done) done = AddPatternFiles(options.exclude_from, selection.exclude);
  if (!done) return done.error();
  return selection;
}

void AddWeightsOption(CLI::App& app, std::string& weights) {
  AddChoice(app, "--weights", weights, {"observed", "estimated"},
            "Measured times, or estimates where stacks were sampled");
}

void AddSliceOptions(CLI::App& app, SliceArguments& arguments) {
  AddChoice(app, "--stack", arguments.stack, {"user+kernel", "user", "kernel"}, "Which stacks");
  AddWeightsOption(app, arguments.weights);
  AddChoice(app, "--time", arguments.time, {"total", "sleeping", "runqueue", "split"},
            "Which part of the time");
  AddChoice(app, "--reason-frame", arguments.reason_frame, {"auto", "always", "never"},
            "Frame with the reason; auto: if there are several");
  app.add_flag("--process-frame", arguments.process_frame, "Frame with the name of the process")
      ->group(kStackGroup);
  AddChoice(app, "--thread-frame", arguments.thread_frame, {"none", "name", "pool"},
            "Frame with the name of the thread or of its pool");
}

analyze::Weights ParseWeights(const std::string& weights) {
  return Choice<analyze::Weights>(weights, std::array{"observed", "estimated"});
}

Result<analyze::SliceOptions> MakeSliceOptions(const SliceArguments& arguments,
                                               const profile::Profile& profile) {
  if (arguments.time != "total" && profile.origin.sampled()) {
    return UsageError("--time " + arguments.time + ": the profile is sampled, all time is sleep");
  }
  if (arguments.time != "total" && !profile.origin.time_split) {
    return UsageError("--time " + arguments.time +
                      ": the profile was recorded without wake-ups (record --time-split off)");
  }
  analyze::SliceOptions options;
  options.stack =
      Choice<analyze::StackPart>(arguments.stack, std::array{"user+kernel", "user", "kernel"});
  options.weights = ParseWeights(arguments.weights);
  options.time = Choice<analyze::TimePart>(arguments.time,
                                           std::array{"total", "sleeping", "runqueue", "split"});
  options.reason_frames =
      Choice<analyze::ReasonFrames>(arguments.reason_frame, std::array{"auto", "always", "never"});
  options.process_frames = arguments.process_frame;
  options.thread_frames =
      Choice<analyze::ThreadFrames>(arguments.thread_frame, std::array{"none", "name", "pool"});
  return options;
}

std::string DescribeSelection(const profile::Profile& profile, const analyze::SliceTotal& kept,
                              const analyze::SliceTotal& filtered) {
  std::string text = fmt::format("{} {}, {}", kept.intervals, output::CountName(profile),
                                 output::FormatDuration(kept.ns));
  if (filtered.intervals > 0) {
    text += fmt::format("; filtered out: {} {}, {}", filtered.intervals, output::CountName(profile),
                        output::FormatDuration(filtered.ns));
  }
  if (kept.ns == 0)
    text += std::string("; nothing to show: ") + WhyNothing(profile, kept, filtered);
  if (const std::string missing = output::MissingLine(profile); !missing.empty()) {
    text += ". " + missing;
  }
  return text;
}

}  // namespace offcpu::cli
