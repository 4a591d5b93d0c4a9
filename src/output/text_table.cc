// SPDX-License-Identifier: MIT
#include "output/text_table.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "output/terminal.h"

namespace offcpu::output {

TextTable::TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  AddRow(std::move(titles));
}

void TextTable::AddRow(std::vector<std::string> cells) {
  OFFCPU_CHECK(cells.size() == columns_.size());
  for (std::string& cell : cells) cell = Printable(cell);
  rows_.push_back(std::move(cells));
}

std::string TextTable::Render() const {
  std::vector<size_t> widths(columns_.size());
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(row[i]));
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      const std::string padding(widths[i] - DisplayWidth(row[i]), ' ');
      line += columns_[i].align == Align::kLeft ? row[i] + padding : padding + row[i];
    }
    line.resize(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

}  // namespace offcpu::output
