// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

#include "jfr/input.h"
#include "jfr/metadata.h"

namespace offcpu::jfr {

constexpr uint64_t kMetadataEvent = 0;
constexpr uint64_t kCheckpointEvent = 1;

// The part of a file that a chunk's events lie in. Offsets in a chunk count from `begin`.
struct Extent {
  uint64_t begin = 0;  // of the chunk, in the file
  uint64_t end = 0;    // of its events, in the file
  bool compressed = true;
};

// Size and type of an event, and where it lies.
struct EventFrame {
  uint64_t offset = 0;  // in the chunk
  uint64_t size = 0;    // with what stands in front of the payload; never 0
  uint64_t type_id = 0;
  uint32_t payload = 0;  // position of the payload within the event
};

// Walks the events of a chunk by their sizes, from the first (or from any other) to the last.
class EventWalk {
 public:
  EventWalk(Input* input, const Extent& extent, uint64_t from);

  // False at the end, and before an event that has no possible size: what follows can't be found
  // then.
  bool Next(EventFrame* frame);
  bool damaged() const { return damaged_; }
  uint64_t offset() const { return next_; }  // of the next event, in the chunk

 private:
  Input* input_;
  Extent extent_;
  uint64_t next_;
  bool damaged_ = false;
};

// The bytes of an event's payload, fewer where the file lost them; valid until `input` is asked
// again.
std::span<const std::byte> Payload(Input* input, const Extent& extent, const EventFrame& frame);

}  // namespace offcpu::jfr
