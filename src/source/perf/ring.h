// SPDX-License-Identifier: MIT
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/mapping.h"
#include "base/result.h"

namespace offcpu::source::perf {

constexpr size_t kMaxRecordBytes = 0xffff + 1;  // perf_event_header.size has 16 bits

// One mapped ring of a perf event. Positions count bytes since the ring was made and never wrap;
// what lies between tail() and Head() is ours to read until Release() gives it back to the kernel.
class PerfRing {
 public:
  // `data_bytes` must be a power of two and at least a page. Errors are errno's, EPERM when the
  // locked-memory budget is used up.
  static Result<PerfRing> Map(int fd, size_t data_bytes);
  // A ring over memory of the caller's, for tests: header page, then data.
  explicit PerfRing(Mapping mapping);

  size_t size() const { return size_; }
  uint64_t tail() const { return tail_; }
  uint64_t Head() const;  // acquires what was written before it

  // The record at `position`, of which `available` bytes were written; empty when its length makes
  // no sense. Valid until Release(), or, for a record that wraps, until the next call.
  std::span<const std::byte> RecordAt(uint64_t position, uint64_t available);

  void Release(uint64_t new_tail);

 private:
  perf_event_mmap_page* header() const;

  Mapping mapping_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  uint64_t tail_ = 0;
  std::vector<std::byte> wrapped_;
};

}  // namespace offcpu::source::perf
