// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "output/flame_tree.h"

namespace offcpu::output {

// A frame that is drawn, and what of its children is not because it would be too narrow.
struct FlameBox {
  FlameTree::Index node = 0;
  uint32_t parent = 0;  // its box
  Nanos start_ns = 0;   // position from the left, in time
  uint64_t hidden_frames = 0;
  Nanos hidden_ns = 0;
};

struct FlameLayout {
  std::vector<FlameBox>
      boxes;                   // a frame, then its children with theirs: levels and starts tell all
  uint32_t levels = 0;         // of drawn frames, the root's included
  uint64_t hidden_frames = 0;  // sums over the boxes
  Nanos hidden_ns = 0;
};

// Children stand beside each other from their parent's left edge on; what remains at the right is
// the parent's own time. Frames below `min_ns` are left out with all above them.
FlameLayout LayOut(const FlameTree& tree, double min_ns);

}  // namespace offcpu::output
