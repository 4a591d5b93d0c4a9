// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace offcpu::jfr {

constexpr size_t kHeaderBytes = 68;

// The 68 bytes in front of each chunk. Offsets count from the chunk's first byte.
struct ChunkHeader {
  uint16_t major = 0;
  uint16_t minor = 0;
  uint64_t size = 0;               // with the header
  uint64_t checkpoint_offset = 0;  // the last checkpoint; 0: none yet
  uint64_t metadata_offset = 0;    // 0: none yet
  int64_t start_epoch_nanos = 0;   // CLOCK_REALTIME; JDK 11 knows it to the millisecond only
  int64_t duration_nanos = 0;      // 0 while unknown
  int64_t start_ticks = 0;         // the same instant as start_epoch_nanos
  uint64_t ticks_per_second = 0;   // never 0 in a header that was accepted
  uint8_t state = 0;               // 0 finished; 1..254 being written; 255 the header itself is
  bool compressed = true;          // the form of integers
  bool last = false;               // of its recording (JDK only)

  bool finished() const { return state == 0; }

  // Ticks on this chunk's clock as nanoseconds since the epoch. What no int64_t can hold (a time
  // that can't be) becomes the nearest that it can.
  int64_t EpochNanos(int64_t ticks) const;
  // A span of ticks in nanoseconds, with the same care.
  int64_t SpanNanos(int64_t ticks) const;
};

// What the first bytes of a file or of a chunk are.
enum class Magic { kChunk, kGzip, kZstd, kLz4, kZip, kOther };
Magic LookAtMagic(std::span<const std::byte> bytes);

// None where `bytes` is shorter than a header or doesn't begin with the magic. Versions are the
// caller's to accept.
std::optional<ChunkHeader> ParseHeader(std::span<const std::byte> bytes);

}  // namespace offcpu::jfr
