// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "analyze/filter.h"
#include "analyze/slice.h"
#include "base/result.h"
#include "profile/profile.h"

// Options that select entries of a profile and say how stacks are written; the same for every
// command over stacks.
namespace offcpu::cli {

struct SelectionOptions {
  std::vector<std::string> reasons{"all"};
  std::string states;
  std::vector<int> pids;
  std::vector<int> tids;
  std::vector<std::string> comms;
  std::vector<std::string> include;
  std::vector<std::string> exclude;
  std::vector<std::string> include_from;
  std::vector<std::string> exclude_from;
};

// Declares --reason, --state, --pid, --tid, --comm, --include, --exclude, --include-from and
// --exclude-from. `options` must outlive the App.
void AddSelectionOptions(CLI::App& app, SelectionOptions& options);
Result<analyze::Selection> MakeSelection(const SelectionOptions& options);

struct SliceArguments {
  std::string stack = "user+kernel";
  std::string weights = "observed";
  std::string time = "total";
  std::string reason_frame = "auto";
  std::string thread_frame = "none";
  bool process_frame = false;
};

// Declares --stack, --weights, --time, --reason-frame, --process-frame and --thread-frame.
void AddSliceOptions(CLI::App& app, SliceArguments& arguments);

// Declares --weights alone.
void AddWeightsOption(CLI::App& app, std::string& weights);
analyze::Weights ParseWeights(const std::string& weights);

// Refuses a time part that the profile does not know.
Result<analyze::SliceOptions> MakeSliceOptions(const SliceArguments& arguments,
                                               const profile::Profile& profile);

// One line for standard error about what a selection kept and dropped, with the reason when nothing
// is left, and what the profile itself lacks.
std::string DescribeSelection(const profile::Profile& profile, const analyze::SliceTotal& kept,
                              const analyze::SliceTotal& filtered);

}  // namespace offcpu::cli
