// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "model/sched_event.h"

namespace offcpu::source::replay {

// The call chains seen last, as they came and split: most are like one before, and comparing is
// cheaper than splitting.
class KnownChains {
 public:
  // What split(words) gives but for `truncated`; the same words must always give the same. The
  // result is valid until the next call.
  template <class Split>
  model::CallChain Find(std::span<const uint64_t> words, Split split) {
    if (words.empty() || words.size() > kMostWords) return split(words);
    if (known_.empty()) known_.resize(kCount);
    Known& known = known_[PlaceOf(words)];
    if (!std::ranges::equal(known.words, words)) Keep(words, split(words), &known);
    model::CallChain chain;
    const std::span<const uint64_t> frames(known.frames);
    chain.kernel = frames.first(known.kernel_frames);
    chain.user = frames.subspan(known.kernel_frames);
    chain.present = true;
    return chain;
  }

 private:
  static constexpr size_t kCount = 1024;      // a power of two
  static constexpr size_t kMostWords = 1024;  // so that they take 16 MiB at most

  struct Known {
    std::vector<uint64_t> words;
    std::vector<uint64_t> frames;
    size_t kernel_frames = 0;
  };

  // Chains that differ do so in their length or in one of these, mostly.
  static size_t PlaceOf(std::span<const uint64_t> words) {
    const uint64_t few = words[words.size() - 1] + 3 * words[words.size() / 2] +
                         5 * words[words.size() / 4] + 7 * words.size();
    return static_cast<size_t>((few * 0x9E3779B97F4A7C15ULL) >> 54) % kCount;
  }

  static void Keep(std::span<const uint64_t> words, const model::CallChain& chain, Known* known) {
    OFFCPU_CHECK(chain.present);
    known->words.assign(words.begin(), words.end());
    known->frames.assign(chain.kernel.begin(), chain.kernel.end());
    known->frames.insert(known->frames.end(), chain.user.begin(), chain.user.end());
    known->kernel_frames = chain.kernel.size();
  }

  std::vector<Known> known_;
};

}  // namespace offcpu::source::replay
