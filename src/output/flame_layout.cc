// SPDX-License-Identifier: MIT
#include "output/flame_layout.h"

#include <algorithm>

namespace offcpu::output {
namespace {

// How many frames each node stands for, itself included.
std::vector<uint64_t> CountFrames(const FlameTree& tree) {
  const std::vector<FlameTree::Node>& nodes = tree.nodes();
  std::vector<uint64_t> frames(nodes.size(), 1);
  for (size_t i = nodes.size(); i-- > 0;) {  // children come after their parents
    for (const auto& [frame, child] : nodes[i].children) frames[i] += frames[child];
  }
  return frames;
}

}  // namespace

FlameLayout LayOut(const FlameTree& tree, double min_ns) {
  const std::vector<FlameTree::Node>& nodes = tree.nodes();
  const std::vector<uint64_t> frames = CountFrames(tree);
  FlameLayout layout;
  std::vector<FlameBox> waiting{FlameBox{}};  // not recursion: stacks may be deep
  std::vector<FlameBox> children;
  while (!waiting.empty()) {
    FlameBox box = waiting.back();
    waiting.pop_back();
    const FlameTree::Node& node = nodes[box.node];
    children.clear();
    const auto parent = static_cast<uint32_t>(layout.boxes.size());
    Nanos start = box.start_ns;
    for (const auto& [frame, child] : node.children) {
      const Nanos total = nodes[child].total_ns;
      if (static_cast<double>(total) < min_ns) {
        box.hidden_frames += frames[child];
        box.hidden_ns += total;
      } else {
        children.push_back({.node = child, .parent = parent, .start_ns = start});
      }
      start += total;
    }
    waiting.insert(waiting.end(), children.rbegin(), children.rend());
    layout.boxes.push_back(box);
    layout.levels = std::max(layout.levels, node.level + 1);
    layout.hidden_frames += box.hidden_frames;
    layout.hidden_ns += box.hidden_ns;
  }
  return layout;
}

}  // namespace offcpu::output
