// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace offcpu::output {

// Keys stay in the order in which they were added.
using Json = nlohmann::ordered_json;

// A document over several lines, or one line; with a newline at the end. What is no UTF-8 in names
// becomes U+FFFD.
std::string JsonDocument(const Json& json);
std::string JsonLine(const Json& json);

}  // namespace offcpu::output
