// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "jfr/event_walk.h"
#include "jfr/input.h"
#include "jfr/layout.h"
#include "jfr/metadata.h"

namespace offcpu::jfr {

// A checkpoint event of a chunk.
struct CheckpointPlace {
  uint64_t offset = 0;  // of the payload, in the chunk
  uint64_t size = 0;    // of the payload
};

// The values that the events of one chunk refer to by (type, key), from all its checkpoints. Keeps
// their bytes and an index of where each key's value begins; values are read when they are asked
// for. Of a key that repeats the first value stays.
//
// Memory: the checkpoints' bytes, and at most 16/3 bytes for each entry, which lies in 2 bytes at
// least.
class Pools {
 public:
  // `metadata` outlives the pools.
  Pools(const Metadata* metadata, bool compressed);

  // Reads the checkpoints at `places` and indexes what can be read of them.
  void Load(Input* input, const Extent& extent, std::span<const CheckpointPlace> places);

  // The value of `key`, ready to be read with the layout of the pool's type; none where the pools
  // have no such key. Key 0 is looked up like all others: it means null in most pools, but some
  // have a real 0.
  std::optional<Wire> Find(TypeIndex type, uint64_t key) const;

  // How often `type` has an entry.
  uint64_t Count(TypeIndex type) const;

  // Checkpoints that could not be read to their end: cut, or with a pool of an unknown type.
  uint64_t damaged_checkpoints() const { return damaged_checkpoints_; }

 private:
  // Open addressing: where in bytes_ an entry begins, plus 1; 0 is free.
  struct Table {
    std::vector<uint32_t> slots;
    uint64_t entries = 0;
  };
  enum class Pass { kCount, kIndex };
  struct Block {
    uint32_t begin = 0;
    uint32_t size = 0;
  };

  void ReadBlocks(Input* input, const Extent& extent, std::span<const CheckpointPlace> places);
  bool WalkCheckpoint(const Block& block, Pass pass);
  bool WalkPool(Wire* wire, const Block& block, Pass pass);
  void MakeTables();
  void Insert(TypeIndex type, uint32_t at, uint64_t key);
  const Layout* LayoutOf(TypeIndex type);
  Wire At(size_t begin, size_t size) const;
  uint64_t KeyAt(uint32_t at) const;
  size_t Place(const Table& table, uint64_t key) const;

  const Metadata* metadata_;
  bool compressed_;
  uint64_t seed_;  // of the places: nobody can make a file whose keys all fall on one place
  std::vector<std::byte> bytes_;
  std::vector<Block> blocks_;
  std::vector<Table> tables_;  // by type
  std::vector<std::unique_ptr<Layout>> layouts_;
  std::vector<bool> refused_;  // types that have no layout
  size_t steps_left_;
  uint64_t damaged_checkpoints_ = 0;
};

}  // namespace offcpu::jfr
