// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "source/replay/input.h"
#include "source/replay/zstd_stream.h"

namespace offcpu::source::replay {

// Types of records that perf itself writes (tools/perf); those of the kernel are below 64.
enum PerfRecord : uint32_t {
  kHeaderAttr = 64,
  kHeaderTracingData = 66,
  kHeaderBuildId = 67,
  kFinishedRound = 68,
  kIdIndex = 69,
  kAuxTrace = 71,
  kThreadMap = 73,
  kHeaderFeature = 80,
  kCompressed = 81,
  kCompressed2 = 83,
};

// One record, valid until the next call. Fields of the head are in this machine's byte order.
struct Record {
  uint32_t type = 0;
  uint16_t misc = 0;
  std::span<const std::byte> bytes;  // with its head; at least 8
  std::span<const std::byte> body() const { return bytes.subspan(8); }
};

// Cuts the data of a recording into records, decompressing those that perf -z packed. What belongs
// to a record but follows it (AUX data) is skipped.
class RecordStream {
 public:
  // Reads from the input's position on, at most `size` bytes; nothing: to its end.
  RecordStream(Input& input, std::optional<uint64_t> size, bool swap);

  // False at the end, also where the recording is damaged: damage() tells.
  bool Next(Record* record);

  // The `size` bytes that follow the record returned last, padded to 8 (tracing data).
  std::vector<std::byte> ReadPayload(uint64_t size);

  // Why reading ended before the recording did; empty: it did not.
  const std::string& damage() const { return damage_; }
  uint64_t compressed_records() const { return compressed_records_; }

 private:
  enum class Found { kRecord, kNothing, kDamaged };
  Found Cut(std::span<const std::byte> bytes, Record* record) const;
  bool NextPlain(Record* record);
  bool NextUnpacked(Record* record);
  void StartUnpacking(const Record& record);
  bool SkipAuxTrace(const Record& record);
  uint64_t Left() const;

  Input& input_;
  const uint64_t end_;  // position in the input
  const bool swap_;
  ZstdStream zstd_;
  std::vector<std::byte> unpacked_;
  size_t unpacked_begin_ = 0;
  size_t unpacked_end_ = 0;
  size_t to_consume_ = 0;  // of the input, before the next record
  uint64_t compressed_records_ = 0;
  std::string damage_;
};

}  // namespace offcpu::source::replay
