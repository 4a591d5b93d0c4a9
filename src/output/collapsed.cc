// SPDX-License-Identifier: MIT
#include "output/collapsed.h"

#include <string>
#include <vector>

#include "output/terminal.h"

namespace offcpu::output {

Result<void> WriteCollapsed(const analyze::Slice& slice, Unit unit, bool for_terminal,
                            const WriteText& write) {
  constexpr size_t kPiece = 64 << 10;
  std::vector<std::string> texts;
  for (const analyze::SliceText& text : slice.texts) {
    texts.push_back(for_terminal ? Printable(text.text) : text.text);
  }
  std::string piece;
  for (const analyze::SliceLine& line : slice.lines) {
    const auto frames = slice.FramesOf(line);
    for (size_t i = 0; i < frames.size(); ++i) {
      if (i > 0) piece += ';';
      piece += texts[frames[i]];
    }
    piece += ' ';
    piece += std::to_string(unit == Unit::kMicros ? ToMicros(line.ns) : line.ns);
    piece += '\n';
    if (piece.size() < kPiece) continue;
    if (auto written = write(piece); !written) return written;
    piece.clear();
  }
  return piece.empty() ? Result<void>() : write(piece);
}

}  // namespace offcpu::output
