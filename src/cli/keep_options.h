// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "record/options.h"

// Options that say which intervals become part of a profile; the same for record and import.
namespace offcpu::cli {

struct KeepArguments {
  std::vector<std::string> reasons{"blocked"};
  std::string min_off_cpu;
  std::string max_off_cpu;
  std::string states;
  bool user_threads = false;
  bool kernel_threads = false;
};

// Declares --reasons, --min-off-cpu, --max-off-cpu, --state, --user-threads and --kernel-threads.
// `arguments` must outlive the App.
void AddKeepOptions(CLI::App& command, KeepArguments& arguments);

// What they mean; they were checked while they were parsed.
record::Selection MakeKeptSelection(const KeepArguments& arguments);

}  // namespace offcpu::cli
