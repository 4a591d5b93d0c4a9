// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace offcpu::output {

// One line of comma-separated values with its newline. A cell stands in double quotes, its own
// quotes doubled, only if it holds a comma, a quote, CR or LF; all other bytes stay as they are.
std::string CsvRow(const std::vector<std::string>& cells);

}  // namespace offcpu::output
