// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/sched_event.h"

namespace offcpu::source {

// Splits the words of a PERF_SAMPLE_CALLCHAIN at the markers between contexts
// (perf_event_open(2)).
class ChainSplitter {
 public:
  // A chain of `max_stack` frames was cut. The result lies in `words`, or in this object until the
  // next call.
  model::CallChain Split(std::span<const uint64_t> words, uint32_t max_stack);

 private:
  model::CallChain CopyFrames(std::span<const uint64_t> words);

  std::vector<uint64_t> frames_;
};

}  // namespace offcpu::source
