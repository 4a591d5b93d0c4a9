// SPDX-License-Identifier: MIT
#include "jfr/event_walk.h"

#include <algorithm>

#include "jfr/chunk_header.h"

namespace offcpu::jfr {
namespace {

constexpr uint64_t kMaxFrontBytes = 18;  // of size and type id, each padded to the utmost

}  // namespace

EventWalk::EventWalk(Input* input, const Extent& extent, uint64_t from)
    : input_(input), extent_(extent), next_(std::max<uint64_t>(from, kHeaderBytes)) {}

bool EventWalk::Next(EventFrame* frame) {
  const uint64_t length = extent_.end - extent_.begin;
  if (damaged_ || next_ >= length) return false;
  const uint64_t left = length - next_;
  const auto wanted = static_cast<size_t>(std::min(left, kMaxFrontBytes));
  const auto bytes = input_->At(extent_.begin + next_, wanted);
  Wire wire(bytes.first(std::min<size_t>(bytes.size(), wanted)), extent_.compressed);
  frame->offset = next_;
  frame->size = wire.Count();
  frame->type_id = wire.Key();
  frame->payload = static_cast<uint32_t>(wire.position());
  if (!wire.ok() || frame->size < frame->payload || frame->size > left) {
    damaged_ = true;
    return false;
  }
  next_ += frame->size;
  return true;
}

std::span<const std::byte> Payload(Input* input, const Extent& extent, const EventFrame& frame) {
  const auto size = static_cast<size_t>(frame.size);
  const auto bytes = input->At(extent.begin + frame.offset, size);
  if (bytes.size() < size) return {};
  return bytes.subspan(frame.payload, size - frame.payload);
}

}  // namespace offcpu::jfr
