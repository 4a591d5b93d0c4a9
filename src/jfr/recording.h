// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "jfr/chunk.h"
#include "jfr/input.h"

namespace offcpu::jfr {

// What could not be read of a recording, summed over the chunks that were asked for. Each item is
// for the user to know: the command's result is incomplete then (exit status 2).
struct Damage {
  uint64_t unfinished_chunks = 0;
  uint64_t cut_chunks = 0;
  uint64_t broken_chunks = 0;
  uint64_t chunks_without_metadata = 0;
  uint64_t checkpoints = 0;  // that could not be read to their end
  uint64_t lost_bytes = 0;   // within chunks and behind the last one
  std::string reading;       // why reading the file failed; empty where it did not

  bool any() const;
  // One line each, such as "3 checkpoints can't be read".
  std::vector<std::string> Lines() const;
};

// A JFR recording: its chunks, one after the other.
class Recording {
 public:
  // Refused by name: what is no JFR recording, compressed ones (gzip, lz4, zstd, zip; JDKs before 9
  // wrote gzip), versions other than 1 and 2, files that end within the first header.
  static Result<Recording> Open(const std::string& path);
  // The same for bytes that outlive the recording; `name` is for messages.
  static Result<Recording> FromMemory(std::span<const std::byte> bytes, const std::string& name);

  // The next chunk; null behind the last one that can be read. A chunk must not outlive the
  // recording, but may stay while others are read. Memory: Pools for each chunk that is kept.
  std::unique_ptr<Chunk> NextChunk();

  // Of the chunks that NextChunk returned; all of it once that returned null.
  const Damage& damage() const { return damage_; }

 private:
  explicit Recording(Input input);
  static Result<Recording> Start(Input input, const std::string& name);

  void Add(const ChunkDamage& damage);
  void Stop();

  std::unique_ptr<Input> input_;  // chunks point to it
  uint64_t next_ = 0;
  Damage damage_;
};

}  // namespace offcpu::jfr
