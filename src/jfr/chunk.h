// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "jfr/chunk_header.h"
#include "jfr/event_walk.h"
#include "jfr/input.h"
#include "jfr/metadata.h"
#include "jfr/pools.h"

namespace offcpu::jfr {

// What could not be read of a chunk. A chunk that is not whole is used as far as it goes.
struct ChunkDamage {
  bool unfinished = false;   // still being written, or its JVM died
  bool cut = false;          // the file ends before the chunk
  bool broken = false;       // an event has no possible size: what follows is lost
  bool no_metadata = false;  // nothing says what the events are
  uint64_t lost_bytes = 0;   // behind the last event that could be found
  uint64_t checkpoints = 0;  // that could not be read to their end
};

// One chunk: self-contained types, pools and clock. Events are read with an EventCursor.
class Chunk {
 public:
  // Reads metadata and pools of the chunk whose header stands at `begin`. `input` outlives the
  // chunk.
  static std::unique_ptr<Chunk> Load(Input* input, uint64_t begin, const ChunkHeader& header);

  const ChunkHeader& header() const { return header_; }
  const Metadata& metadata() const { return metadata_; }
  const Pools& pools() const { return *pools_; }
  const Extent& extent() const { return extent_; }
  const ChunkDamage& damage() const { return damage_; }
  Input* input() const { return input_; }

  // Where the next chunk begins in the file.
  uint64_t end() const { return extent_.end; }

  // How many events each type has, by TypeIndex.
  const std::vector<uint64_t>& counts() const { return counts_; }
  uint64_t metadata_events() const { return metadata_events_; }
  uint64_t checkpoint_events() const { return checkpoint_events_; }
  // Events of types that the metadata does not describe; they are skipped by their size.
  uint64_t unknown_events() const { return unknown_events_; }
  // Events behind the part that an unfinished chunk's header covers; included in the counts. What
  // they refer to is not in a pool, perhaps.
  uint64_t events_behind_flush() const { return events_behind_flush_; }

 private:
  Chunk(Input* input, uint64_t begin, const ChunkHeader& header);

  void FindEnd(uint64_t begin);
  void FindMetadata();
  bool ReadMetadataAt(const EventFrame& frame);
  std::vector<CheckpointPlace> Scan();
  void Count(const EventFrame& frame);
  void FollowChain(uint64_t behind, std::vector<CheckpointPlace>* places);

  Input* input_;
  ChunkHeader header_;
  Extent extent_;
  ChunkDamage damage_;
  Metadata metadata_;
  std::unique_ptr<Pools> pools_;
  std::vector<uint64_t> counts_;
  uint64_t metadata_events_ = 0;
  uint64_t checkpoint_events_ = 0;
  uint64_t unknown_events_ = 0;
  uint64_t events_behind_flush_ = 0;
};

}  // namespace offcpu::jfr
