// SPDX-License-Identifier: MIT
#include "source/chain_splitter.h"

#include <linux/perf_event.h>

#include <cstddef>

namespace offcpu::source {
namespace {

// Not a marker between contexts, and not the zero with which a walk by frame pointers ends when the
// chain was broken.
bool IsFrame(uint64_t address) { return address - 1 < static_cast<uint64_t>(PERF_CONTEXT_MAX) - 1; }

// The frames at the start, up to the first word that is none. Looks at four together: a chain has
// dozens, and this is done for each.
std::span<const uint64_t> LeadingFrames(std::span<const uint64_t> words) {
  size_t end = 0;
  while (end + 4 <= words.size() && (IsFrame(words[end]) & IsFrame(words[end + 1]) &
                                     IsFrame(words[end + 2]) & IsFrame(words[end + 3]))) {
    end += 4;
  }
  while (end < words.size() && IsFrame(words[end])) ++end;
  return words.first(end);
}

}  // namespace

model::CallChain ChainSplitter::Split(std::span<const uint64_t> words, uint32_t max_stack) {
  // Nearly every chain is the kernel's frames and then the user's; those are used where they lie.
  std::span<const uint64_t> rest = words;
  const auto skip = [&rest](uint64_t context) {
    const bool there = !rest.empty() && rest.front() == context;
    if (there) rest = rest.subspan(1);
    return there;
  };
  model::CallChain chain;
  skip(static_cast<uint64_t>(PERF_CONTEXT_KERNEL));
  chain.kernel = LeadingFrames(rest);
  rest = rest.subspan(chain.kernel.size());
  if (skip(static_cast<uint64_t>(PERF_CONTEXT_USER))) {
    chain.user = LeadingFrames(rest);
    rest = rest.subspan(chain.user.size());
  }
  if (!rest.empty()) chain = CopyFrames(words);
  chain.truncated = chain.kernel.size() + chain.user.size() >= max_stack;
  chain.present = true;
  return chain;
}

// A chain with frames of others, or with zeros in it, or in another order.
model::CallChain ChainSplitter::CopyFrames(std::span<const uint64_t> words) {
  frames_.clear();
  size_t kernel_end = 0;
  for (const bool kernel : {true, false}) {
    auto context = static_cast<uint64_t>(PERF_CONTEXT_KERNEL);
    for (const uint64_t address : words) {
      if (address >= static_cast<uint64_t>(PERF_CONTEXT_MAX)) {
        context = address;
      } else if (IsFrame(address) && context == static_cast<uint64_t>(kernel ? PERF_CONTEXT_KERNEL
                                                                             : PERF_CONTEXT_USER)) {
        frames_.push_back(address);
      }
    }
    if (kernel) kernel_end = frames_.size();
  }
  const std::span<const uint64_t> frames(frames_);
  model::CallChain chain;
  chain.kernel = frames.first(kernel_end);
  chain.user = frames.subspan(kernel_end);
  return chain;
}

}  // namespace offcpu::source
