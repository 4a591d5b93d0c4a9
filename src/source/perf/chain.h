// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "model/sched_event.h"
#include "source/chain_splitter.h"

namespace offcpu::source::perf {

// Reads the call chain of a sample in a ring.
class ChainDecoder {
 public:
  // A chain of `max_stack` frames was cut.
  explicit ChainDecoder(uint32_t max_stack) : max_stack_(max_stack) {}

  // Reads the number of entries and the entries. False when they don't fit into the record. The
  // chain lies in the record, or in this object until the next call.
  bool Read(Bytes& bytes, model::CallChain* chain);

 private:
  std::span<const uint64_t> Addresses(std::span<const std::byte> bytes);

  const uint32_t max_stack_;
  ChainSplitter splitter_;
  std::vector<uint64_t> aligned_;
};

}  // namespace offcpu::source::perf
