// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "output/flame_tree.h"

// A flame graph as one file that needs nothing else: SVG with its style and script inside, or a
// page that holds the same SVG. Well-formed for any bytes in names; without the script a static
// picture. A frame's width is its time; frames beside each other are in the order of their names.
namespace offcpu::output {

enum class FlameColors {
  kKind,    // by FlameKind; the shade within a kind follows from the name alone
  kReason,  // by the reason that has nine tenths of the frame's time, else "mixed"
};

struct FlamegraphOptions {
  std::string title;
  std::string subtitle;            // what was recorded
  std::string measure;             // what a frame's width stands for, as in "time off the CPU"
  std::string count_name;          // what is counted beside the time, a plural: "intervals"
  std::vector<std::string> notes;  // lines below the picture: what is missing in it, and why
  std::string empty_text;          // stands in the picture of a tree without time
  FlameColors colors = FlameColors::kKind;
  bool inverted = false;  // the root on top
  double min_width_px =
      0.1;  // narrower frames are left out, and the picture says how much that hides
};

std::string RenderFlamegraphSvg(const FlameTree& tree, const FlamegraphOptions& options);
std::string RenderFlamegraphHtml(const FlameTree& tree, const FlamegraphOptions& options);

}  // namespace offcpu::output
