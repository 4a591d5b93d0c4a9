// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace offcpu::cli {

// Parsed once more where it is used; here only for the message.
template <class Parse>
CLI::Validator Checked(Parse parse) {
  return CLI::Validator(
      [parse](const std::string& text) {
        const auto value = parse(text);
        if (value) return std::string();
        const Error& error = value.error();
        return error.hint.empty() ? error.message : error.message + ": " + error.hint;
      },
      "", "value");
}

}  // namespace offcpu::cli
