// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "base/result.h"

namespace offcpu::cli {

// What a command does once the command line was understood; returns its exit status.
using Action = std::function<Result<int>()>;

// Each declares its options on a subcommand of `app` and returns its action; the options live as
// long as the action. main.cc lists them in the order of `offcpu --help`.
struct Command {
  CLI::App* app = nullptr;
  Action action;
};
using AddCommand = Command (*)(CLI::App& app);

Command AddRecord(CLI::App& app);
Command AddImport(CLI::App& app);
Command AddStacks(CLI::App& app);
Command AddFlamegraph(CLI::App& app);
Command AddTop(CLI::App& app);
Command AddThreads(CLI::App& app);
Command AddInfo(CLI::App& app);
Command AddDump(CLI::App& app);
Command AddDoctor(CLI::App& app);

}  // namespace offcpu::cli
