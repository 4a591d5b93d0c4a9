// SPDX-License-Identifier: MIT
#include "profile/interner.h"

namespace offcpu::profile {

namespace {

size_t HashPair(uint32_t a, uint32_t b) {
  const uint64_t mixed = (static_cast<uint64_t>(a) << 32 | b) * 0x9e3779b97f4a7c15U;
  return static_cast<size_t>(mixed ^ mixed >> 32);
}

}  // namespace

size_t Interner::FrameHash::operator()(const Frame& frame) const {
  return HashPair(frame.name, frame.module) + static_cast<size_t>(frame.kind) * 2 + frame.inlined;
}

size_t Interner::NodeHash::operator()(const StackNode& node) const {
  return HashPair(node.parent, node.frame);
}

Interner::Interner(Profile* profile) : profile_(profile) {
  for (StringId id = 0; id < profile->strings.size(); ++id) {
    strings_.emplace(profile->strings[id], id);
  }
  for (FrameId id = 1; id < profile->frames.size(); ++id) frames_.emplace(profile->frames[id], id);
  for (NodeId id = 1; id < profile->nodes.size(); ++id) nodes_.emplace(profile->nodes[id], id);
}

StringId Interner::AddString(std::string_view text) {
  if (auto known = strings_.find(text); known != strings_.end()) return known->second;
  const auto id = static_cast<StringId>(profile_->strings.size());
  profile_->strings.emplace_back(text);
  strings_.emplace(text, id);
  return id;
}

FrameId Interner::AddFrame(const Frame& frame) {
  auto [place, added] = frames_.emplace(frame, static_cast<FrameId>(profile_->frames.size()));
  if (added) profile_->frames.push_back(frame);
  return place->second;
}

FrameId Interner::AddFrame(const model::SymbolFrame& frame) {
  const StringId name = AddString(frame.name);
  return AddFrame(Frame{frame.kind, frame.inlined, name, AddString(frame.module)});
}

NodeId Interner::AddNode(NodeId parent, FrameId frame) {
  const StackNode node{parent, frame};
  auto [place, added] = nodes_.emplace(node, static_cast<NodeId>(profile_->nodes.size()));
  if (added) profile_->nodes.push_back(node);
  return place->second;
}

NodeId Interner::AddStack(std::span<const model::SymbolFrame> root_first) {
  NodeId node = 0;
  for (const model::SymbolFrame& frame : root_first) node = AddNode(node, AddFrame(frame));
  return node;
}

}  // namespace offcpu::profile
