// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "model/stack.h"
#include "profile/profile.h"

namespace offcpu::profile {

// Gives equal strings, frames and stacks of a profile one id: the one they have, else a new one at
// the end of its vector. The profile must outlive it and not grow in another way meanwhile.
class Interner {
 public:
  explicit Interner(Profile* profile);

  StringId AddString(std::string_view text);
  FrameId AddFrame(const Frame& frame);
  FrameId AddFrame(const model::SymbolFrame& frame);
  NodeId AddNode(NodeId parent, FrameId frame);
  NodeId AddStack(std::span<const model::SymbolFrame> root_first);

 private:
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  struct FrameHash {
    size_t operator()(const Frame& frame) const;
  };
  struct NodeHash {
    size_t operator()(const StackNode& node) const;
  };

  Profile* profile_;
  std::unordered_map<std::string, StringId, TextHash, std::equal_to<>> strings_;
  std::unordered_map<Frame, FrameId, FrameHash> frames_;
  std::unordered_map<StackNode, NodeId, NodeHash> nodes_;
};

}  // namespace offcpu::profile
