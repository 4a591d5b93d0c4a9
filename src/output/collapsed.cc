// SPDX-License-Identifier: MIT
#include "output/collapsed.h"

#include <vector>

#include "output/terminal.h"

namespace offcpu::output {

std::string CollapsedText(const analyze::Slice& slice, Unit unit, bool for_terminal) {
  std::vector<std::string> texts;
  for (const analyze::SliceText& text : slice.texts) {
    texts.push_back(for_terminal ? Printable(text.text) : text.text);
  }
  constexpr size_t kMaxWeight = 22;  // blank, digits, newline
  size_t size = 0;
  for (const analyze::SliceLine& line : slice.lines) {
    for (const analyze::TextId id : slice.FramesOf(line)) size += texts[id].size() + 1;
    size += kMaxWeight;
  }
  std::string lines;
  lines.reserve(size);
  for (const analyze::SliceLine& line : slice.lines) {
    const auto frames = slice.FramesOf(line);
    for (size_t i = 0; i < frames.size(); ++i) {
      if (i > 0) lines += ';';
      lines += texts[frames[i]];
    }
    lines += ' ';
    lines += std::to_string(unit == Unit::kMicros ? ToMicros(line.ns) : line.ns);
    lines += '\n';
  }
  return lines;
}

}  // namespace offcpu::output
