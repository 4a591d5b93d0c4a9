// SPDX-License-Identifier: MIT
#include "jfr/chunk_header.h"

#include <algorithm>
#include <array>

#include "base/clock.h"
#include "jfr/wire.h"

namespace offcpu::jfr {
namespace {

__extension__ using Wide = __int128;

int64_t Clamp(Wide value) {
  return static_cast<int64_t>(std::clamp<Wide>(value, INT64_MIN, INT64_MAX));
}

// Rounded down to whole nanoseconds, as JFR's own reader does for spans of time.
Wide ToNanos(Wide ticks, uint64_t ticks_per_second) {
  return ticks * static_cast<Wide>(kNanosPerSecond) / static_cast<Wide>(ticks_per_second);
}

}  // namespace

int64_t ChunkHeader::EpochNanos(int64_t ticks) const {
  const Wide since_start = static_cast<Wide>(ticks) - start_ticks;
  return Clamp(start_epoch_nanos + ToNanos(since_start, ticks_per_second));
}

int64_t ChunkHeader::SpanNanos(int64_t ticks) const {
  return Clamp(ToNanos(ticks, ticks_per_second));
}

Magic LookAtMagic(std::span<const std::byte> bytes) {
  if (bytes.size() < 4) return Magic::kOther;
  uint32_t first = 0;
  for (size_t i = 0; i < 4; ++i) first = first << 8 | static_cast<uint8_t>(bytes[i]);
  if (first == 0x464c5200) return Magic::kChunk;  // "FLR" and a zero
  if (first >> 16 == 0x1f8b) return Magic::kGzip;
  if (first == 0x28b52ffd) return Magic::kZstd;
  if (first == 0x04224d18) return Magic::kLz4;
  if (first == 0x504b0304) return Magic::kZip;
  return Magic::kOther;
}

std::optional<ChunkHeader> ParseHeader(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeaderBytes || LookAtMagic(bytes) != Magic::kChunk) return std::nullopt;
  Wire wire(bytes.subspan(4, kHeaderBytes - 4), /*compressed=*/false);
  ChunkHeader header;
  header.major = static_cast<uint16_t>(wire.Short());
  header.minor = static_cast<uint16_t>(wire.Short());
  header.size = wire.Key();
  header.checkpoint_offset = wire.Key();
  header.metadata_offset = wire.Key();
  header.start_epoch_nanos = wire.Long();
  header.duration_nanos = wire.Long();
  header.start_ticks = wire.Long();
  header.ticks_per_second = wire.Key();
  header.state = wire.Byte();
  wire.Skip(1);
  const uint16_t flags = wire.Char();
  header.compressed = (flags & 1) != 0;
  header.last = (flags & 2) != 0;
  return header;
}

}  // namespace offcpu::jfr
