// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/sched_event.h"

namespace offcpu::output {

// What a frame of the picture stands for; decides its colour.
enum class FlameKind : uint8_t {
  kKernel,
  kUser,
  kInlined,  // user code that the compiler inlined into the frame below
  kJit,
  kMarker,  // stands for something that is missing
  kLabel,   // a thread, process, reason or time part: no code
};
constexpr size_t kFlameKindCount = 6;

// Frames are the same when all three agree. The texts may hold any bytes.
struct FlameFrame {
  std::string_view name;
  std::string_view module;  // empty: none known
  FlameKind kind = FlameKind::kMarker;

  auto operator<=>(const FlameFrame&) const = default;
};

// Weighted stacks, merged from the root. Weights are time, never numbers of intervals. The texts
// of the frames must outlive the tree.
class FlameTree {
 public:
  using Index = uint32_t;
  using Weights = std::array<Nanos, model::kReasonCount>;

  struct Node {
    FlameFrame frame;
    uint32_t level = 0;  // 0 is the root
    Nanos total_ns = 0;  // self and all below; a node's children never exceed it
    uint64_t intervals = 0;
    Weights reason_ns{};                   // adds up to total_ns
    std::map<FlameFrame, Index> children;  // by name, then module, then kind
  };

  // Deeper frames are not kept; their time stays with the last frame that is.
  static constexpr size_t kMaxDepth = 4096;
  // Sums end here, so that no file can make them overflow.
  static constexpr Nanos kMaxTotal = ~Nanos{0} / 2;

  FlameTree();

  // `stack` from the root to the leaf, its weight by model::Reason. Without any it adds nothing.
  void Add(std::span<const FlameFrame> stack, const Weights& weights, uint64_t intervals);

  // The root comes first and is named "all"; parents come before their children.
  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& root() const { return nodes_.front(); }
  Nanos cut_ns() const { return cut_ns_; }  // time of stacks deeper than kMaxDepth

 private:
  Index Child(Index parent, const FlameFrame& frame);
  void Grow(Index node, const Weights& weights, uint64_t intervals);

  std::vector<Node> nodes_;
  Nanos cut_ns_ = 0;
};

}  // namespace offcpu::output
