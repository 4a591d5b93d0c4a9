// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace offcpu::cli {

// One line about what is wrong with the command line: names the option or argument, the value that
// was given and what it may be. `app` is the App whose parse() threw `error`.
std::string DescribeUsageError(const CLI::App& app, const CLI::ParseError& error);

// `text` with control characters as '?': a message stays one line whatever a file is called, and
// can't steer the terminal.
std::string OneLine(std::string_view text);

}  // namespace offcpu::cli
