// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "model/sched_event.h"

namespace offcpu::source::perf {

// Splits the call chain of a sample (PERF_SAMPLE_CALLCHAIN) at its context markers.
class ChainDecoder {
 public:
  // A chain of `max_stack` frames was cut.
  explicit ChainDecoder(uint32_t max_stack);

  // Reads the number of entries and the entries. False when they don't fit into the record. The
  // chain lies in the record, or in this object until the next call.
  bool Read(Bytes& bytes, model::CallChain* chain);

 private:
  model::CallChain Split(std::span<const std::byte> bytes);
  std::span<const uint64_t> Addresses(std::span<const std::byte> bytes);
  model::CallChain CopyFrames(std::span<const uint64_t> all);

  const uint32_t max_stack_;
  std::vector<uint64_t> copy_;
};

}  // namespace offcpu::source::perf
