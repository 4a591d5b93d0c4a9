// SPDX-License-Identifier: MIT
#include "source/perf/chain.h"

#include <linux/perf_event.h>

#include <cstring>

namespace offcpu::source::perf {
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

ChainDecoder::ChainDecoder(uint32_t max_stack) : max_stack_(max_stack) {
  copy_.resize((1U << 16) / sizeof(uint64_t));  // as many as a record can hold
}

bool ChainDecoder::Read(Bytes& bytes, model::CallChain* chain) {
  const auto count = bytes.Read<uint64_t>();
  if (count > bytes.remaining() / sizeof(uint64_t)) return false;
  *chain = Split(bytes.Take(count * sizeof(uint64_t)));
  return bytes.ok();
}

model::CallChain ChainDecoder::Split(std::span<const std::byte> bytes) {
  const std::span<const uint64_t> all = Addresses(bytes);
  // Nearly every chain is the kernel's frames and then the user's; those are used where they lie.
  std::span<const uint64_t> rest = all;
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
  if (!rest.empty()) chain = CopyFrames(all);
  chain.truncated = chain.kernel.size() + chain.user.size() >= max_stack_;
  chain.present = true;
  return chain;
}

// Records are aligned to 8 bytes, and with kSampleHead before it so is a chain.
std::span<const uint64_t> ChainDecoder::Addresses(std::span<const std::byte> bytes) {
  if (reinterpret_cast<uintptr_t>(bytes.data()) % alignof(uint64_t) != 0) {
    std::memcpy(copy_.data(), bytes.data(), bytes.size());
    return {copy_.data(), bytes.size() / sizeof(uint64_t)};
  }
  return {reinterpret_cast<const uint64_t*>(bytes.data()), bytes.size() / sizeof(uint64_t)};
}

// A chain with frames of others, or in another order; may lie in copy_ already.
model::CallChain ChainDecoder::CopyFrames(std::span<const uint64_t> all) {
  enum { kKernel, kUser, kOther } part = kKernel;
  size_t kernel_end = 0;
  size_t end = 0;
  for (const uint64_t address : all) {
    if (address >= static_cast<uint64_t>(PERF_CONTEXT_MAX)) {
      const bool kernel = address == static_cast<uint64_t>(PERF_CONTEXT_KERNEL);
      const bool user = address == static_cast<uint64_t>(PERF_CONTEXT_USER);
      part = kernel ? kKernel : user ? kUser : kOther;
      continue;
    }
    if (part == kOther || (part == kKernel && kernel_end != end) || !IsFrame(address)) continue;
    copy_[end++] = address;
    if (part == kKernel) kernel_end = end;
  }
  const std::span<const uint64_t> frames(copy_.data(), end);
  model::CallChain chain;
  chain.kernel = frames.first(kernel_end);
  chain.user = frames.subspan(kernel_end);
  return chain;
}

}  // namespace offcpu::source::perf
