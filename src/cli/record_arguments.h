// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/result.h"
#include "cli/keep_options.h"
#include "model/ids.h"
#include "record/options.h"

namespace offcpu::cli {

// The command line of `record`, as text.
struct RecordArguments {
  std::vector<model::Pid> pids;
  std::vector<model::Tid> tids;
  bool all = false;
  std::string cgroup;
  std::vector<std::string> command;
  bool follow = false;
  bool no_follow = false;
  std::string duration;
  std::string output = "offcpu.pb";
  bool force = false;
  bool dry_run = false;
  KeepArguments keep;
  std::string stacks = "user,kernel";
  uint32_t max_stack = 0;
  std::string inlines = "on";
  std::string backend = "auto";
  uint32_t sample_hz = 100;
  std::string buffer_size = "8M";
  std::string time_split = "on";
  bool quiet = false;
  bool verbose = false;
};

// Declares the options; `arguments` must outlive the App.
void AddRecordArguments(CLI::App& command, RecordArguments& arguments);

// What they mean. kUsage where they contradict each other.
Result<record::Options> MakeRecordOptions(const RecordArguments& arguments);

}  // namespace offcpu::cli
