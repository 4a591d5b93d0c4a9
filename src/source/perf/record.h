// SPDX-License-Identifier: MIT
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <cstring>
#include <span>

#include "base/clock.h"

// What all PERF_RECORD_* of our events have in common.
namespace offcpu::source::perf {

// What kSampleHead puts at the start of each sample, behind its perf_event_header.
struct SampleHead {
  uint64_t identifier;
  int32_t pid;
  int32_t tid;
  uint64_t time;
  uint32_t cpu;
  uint32_t reserved;
};

// What it puts at the end of all other records.
struct RecordTrailer {
  int32_t pid;
  int32_t tid;
  uint64_t time;
  uint32_t cpu;
  uint32_t reserved;
  uint64_t identifier;
};

// Zeros when there is not even a header.
inline perf_event_header HeaderOf(std::span<const std::byte> record) {
  perf_event_header header{};
  if (record.size() >= sizeof(header)) std::memcpy(&header, record.data(), sizeof(header));
  return header;
}

// False when the record is too short.
inline bool ReadHead(std::span<const std::byte> record, SampleHead* head) {
  if (record.size() < sizeof(perf_event_header) + sizeof(*head)) return false;
  std::memcpy(head, record.data() + sizeof(perf_event_header), sizeof(*head));
  return true;
}
inline bool ReadTrailer(std::span<const std::byte> record, RecordTrailer* trailer) {
  if (record.size() < sizeof(perf_event_header) + sizeof(*trailer)) return false;
  std::memcpy(trailer, record.data() + record.size() - sizeof(*trailer), sizeof(*trailer));
  return true;
}
// What lies between header and trailer.
inline std::span<const std::byte> BodyOf(std::span<const std::byte> record) {
  constexpr size_t kRest = sizeof(perf_event_header) + sizeof(RecordTrailer);
  if (record.size() < kRest) return {};
  return record.subspan(sizeof(perf_event_header), record.size() - kRest);
}

// Of the record's head or trailer; 0 when it is too short to have one.
inline Nanos TimeOfRecord(std::span<const std::byte> record) {
  if (HeaderOf(record).type == PERF_RECORD_SAMPLE) {
    SampleHead head;
    return ReadHead(record, &head) ? head.time : 0;
  }
  RecordTrailer trailer;
  return ReadTrailer(record, &trailer) ? trailer.time : 0;
}

}  // namespace offcpu::source::perf
