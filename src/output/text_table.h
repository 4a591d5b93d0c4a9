// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace offcpu::output {

// A table for people: columns as wide as their widest cell, two blanks between them, no blanks at
// the ends of lines. Cells go through Printable().
class TextTable {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kRight;
  };

  explicit TextTable(std::vector<Column> columns);

  // As many cells as columns.
  void AddRow(std::vector<std::string> cells);

  // The titles, then the rows; each line ends in a newline.
  std::string Render() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;  // the titles first
};

}  // namespace offcpu::output
