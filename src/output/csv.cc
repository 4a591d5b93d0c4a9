// SPDX-License-Identifier: MIT
#include "output/csv.h"

namespace offcpu::output {

std::string CsvRow(const std::vector<std::string>& cells) {
  std::string row;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) row += ',';
    if (cells[i].find_first_of(",\"\r\n") == std::string::npos) {
      row += cells[i];
      continue;
    }
    row += '"';
    for (const char c : cells[i]) {
      if (c == '"') row += '"';
      row += c;
    }
    row += '"';
  }
  return row + '\n';
}

}  // namespace offcpu::output
