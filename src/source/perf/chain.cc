// SPDX-License-Identifier: MIT
#include "source/perf/chain.h"

#include <cstring>

namespace offcpu::source::perf {

bool ChainDecoder::Read(Bytes& bytes, model::CallChain* chain) {
  const auto count = bytes.Read<uint64_t>();
  if (count > bytes.remaining() / sizeof(uint64_t)) return false;
  *chain = splitter_.Split(Addresses(bytes.Take(count * sizeof(uint64_t))), max_stack_);
  return bytes.ok();
}

// Records are aligned to 8 bytes, and with kSampleHead before it so is a chain.
std::span<const uint64_t> ChainDecoder::Addresses(std::span<const std::byte> bytes) {
  const size_t count = bytes.size() / sizeof(uint64_t);
  if (reinterpret_cast<uintptr_t>(bytes.data()) % alignof(uint64_t) == 0) {
    return {reinterpret_cast<const uint64_t*>(bytes.data()), count};
  }
  aligned_.resize(count);
  std::memcpy(aligned_.data(), bytes.data(), count * sizeof(uint64_t));
  return aligned_;
}

}  // namespace offcpu::source::perf
