// SPDX-License-Identifier: MIT
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "profile/profile.h"

namespace offcpu::profile {

// The canonical order of what a profile has (canonical.h). Names are compared byte by byte. The
// profile must have each string, frame and node once, parents before their children; it must
// outlive the Order and not grow.
class Order {
 public:
  explicit Order(const Profile& profile);

  // The number of frames from the root; 0 for node 0.
  uint32_t Depth(NodeId node) const { return depths_[node]; }

  std::strong_ordering Strings(StringId a, StringId b) const;
  std::strong_ordering Frames(FrameId a, FrameId b) const;
  std::strong_ordering Stacks(NodeId a, NodeId b) const;
  // All fields count, so that only threads that can't be told apart are equal.
  std::strong_ordering Threads(const Thread& a, const Thread& b) const;
  // Equal entries are those to be merged. Threads count by their ids.
  std::strong_ordering Entries(const Entry& a, const Entry& b) const;

 private:
  const Profile& profile_;
  std::vector<uint32_t> depths_;
};

}  // namespace offcpu::profile
