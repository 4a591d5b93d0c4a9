// SPDX-License-Identifier: MIT
#include "output/flame_tree.h"

#include <algorithm>

namespace offcpu::output {

FlameTree::FlameTree() {
  nodes_.emplace_back();
  nodes_.front().frame = {.name = "all", .module = {}, .kind = FlameKind::kLabel};
}

void FlameTree::Add(std::span<const FlameFrame> stack, const Weights& weights, uint64_t intervals) {
  Weights taken{};
  Nanos total = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    taken[i] = std::min(weights[i], kMaxTotal - root().total_ns - total);
    total += taken[i];
  }
  if (total == 0) return;
  if (stack.size() > kMaxDepth) {
    stack = stack.first(kMaxDepth);
    cut_ns_ += total;
  }
  Index node = 0;
  Grow(node, taken, intervals);
  for (const FlameFrame& frame : stack) {
    node = Child(node, frame);
    Grow(node, taken, intervals);
  }
}

FlameTree::Index FlameTree::Child(Index parent, const FlameFrame& frame) {
  const auto next = static_cast<Index>(nodes_.size());
  const auto [child, added] = nodes_[parent].children.try_emplace(frame, next);
  const Index index = child->second;
  if (added) {
    Node& node = nodes_.emplace_back();
    node.frame = frame;
    node.level = nodes_[parent].level + 1;
  }
  return index;
}

void FlameTree::Grow(Index index, const Weights& weights, uint64_t intervals) {
  Node& node = nodes_[index];
  for (size_t i = 0; i < weights.size(); ++i) {
    node.reason_ns[i] += weights[i];
    node.total_ns += weights[i];
  }
  node.intervals += intervals;
}

}  // namespace offcpu::output
