// SPDX-License-Identifier: MIT
#include "jfr/chunk.h"

#include <algorithm>

namespace offcpu::jfr {

std::unique_ptr<Chunk> Chunk::Load(Input* input, uint64_t begin, const ChunkHeader& header) {
  std::unique_ptr<Chunk> chunk(new Chunk(input, begin, header));
  chunk->FindEnd(begin);
  chunk->FindMetadata();
  const std::vector<CheckpointPlace> places = chunk->Scan();
  chunk->pools_ = std::make_unique<Pools>(&chunk->metadata_, header.compressed);
  chunk->pools_->Load(input, chunk->extent_, places);
  chunk->damage_.checkpoints = chunk->pools_->damaged_checkpoints();
  return chunk;
}

Chunk::Chunk(Input* input, uint64_t begin, const ChunkHeader& header)
    : input_(input), header_(header), extent_{begin, begin, header.compressed} {}

// The size in the header of an unfinished chunk is that of the last flush. What follows in a
// recording whose JVM died are events, too; another chunk may follow where somebody put several
// together.
void Chunk::FindEnd(uint64_t begin) {
  const uint64_t left = input_->size() - begin;
  damage_.unfinished = !header_.finished();
  damage_.cut = header_.finished() && header_.size > left;
  const uint64_t size = std::clamp<uint64_t>(header_.size, kHeaderBytes, left);
  const bool followed = size == left || LookAtMagic(input_->At(begin + size, 4)) == Magic::kChunk;
  extent_.end = begin + (damage_.unfinished && !followed ? left : size);
}

// A finished chunk's header names the metadata; in others, and where there is none at that place,
// the last that can be read is the fullest.
void Chunk::FindMetadata() {
  EventFrame frame;
  if (header_.finished() && header_.metadata_offset < extent_.end - extent_.begin) {
    EventWalk walk(input_, extent_, header_.metadata_offset);
    if (walk.Next(&frame) && frame.type_id == kMetadataEvent && ReadMetadataAt(frame)) return;
  }
  damage_.no_metadata = true;
  EventWalk walk(input_, extent_, kHeaderBytes);
  while (walk.Next(&frame)) {
    if (frame.type_id == kMetadataEvent && ReadMetadataAt(frame)) damage_.no_metadata = false;
  }
}

bool Chunk::ReadMetadataAt(const EventFrame& frame) {
  auto metadata = Metadata::Parse(Payload(input_, extent_, frame), header_.compressed);
  if (!metadata) return false;
  metadata_ = std::move(*metadata);
  return true;
}

// Meets all events, counts them, and returns the checkpoints among them. The linear walk finds what
// the chain of checkpoints finds, without need of a header that names the last one.
std::vector<CheckpointPlace> Chunk::Scan() {
  std::vector<CheckpointPlace> places;
  counts_.assign(metadata_.types().size(), 0);
  EventWalk walk(input_, extent_, kHeaderBytes);
  EventFrame frame;
  while (walk.Next(&frame)) {
    Count(frame);
    if (frame.type_id == kCheckpointEvent) {
      places.push_back({frame.offset + frame.payload, frame.size - frame.payload});
    }
  }
  damage_.broken = walk.damaged();
  damage_.lost_bytes = extent_.end - extent_.begin - walk.offset();
  if (walk.damaged()) FollowChain(walk.offset(), &places);
  return places;
}

void Chunk::Count(const EventFrame& frame) {
  if (frame.type_id == kMetadataEvent) {
    ++metadata_events_;
    return;
  }
  if (frame.type_id == kCheckpointEvent) {
    ++checkpoint_events_;
    return;
  }
  const TypeIndex type = metadata_.ById(frame.type_id);
  if (type == kNoType) {
    ++unknown_events_;
  } else {
    ++counts_[type];
  }
  if (damage_.unfinished && frame.offset >= header_.size) ++events_behind_flush_;
}

// The checkpoints behind the place where the walk ended, from the last one backwards. Each lies
// before the one that was visited, so the chain ends.
void Chunk::FollowChain(uint64_t behind, std::vector<CheckpointPlace>* places) {
  uint64_t offset = header_.checkpoint_offset;
  while (offset > behind && offset < extent_.end - extent_.begin) {
    EventWalk walk(input_, extent_, offset);
    EventFrame frame;
    if (!walk.Next(&frame) || frame.type_id != kCheckpointEvent) return;
    places->push_back({frame.offset + frame.payload, frame.size - frame.payload});
    Wire wire(Payload(input_, extent_, frame), header_.compressed);
    (void)wire.Long();  // start
    (void)wire.Long();  // duration
    const int64_t delta = wire.Long();
    if (!wire.ok() || delta >= 0 || delta < -static_cast<int64_t>(offset)) return;
    offset -= static_cast<uint64_t>(-delta);
  }
}

}  // namespace offcpu::jfr
