// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "model/sinks.h"
#include "source/bpf/records.h"
#include "source/request.h"

namespace offcpu::source::bpf {

// The request as the program reads it. What it has no place for (who is followed by id, how many
// frames) is not in it.
offcpu_bpf_settings SettingsOf(const Request& request);

// The time of a record of the ring, for merging; 0 when it is too short to have one.
Nanos TimeOfRecord(std::span<const std::byte> record);

// Turns records of the program into model events.
class Decoder {
 public:
  // A chain has so many frames at most, the kernel's first.
  explicit Decoder(size_t max_stack) : max_stack_(max_stack) {}

  // `record` is aligned as in the ring.
  void Decode(std::span<const std::byte> record, model::EventSink& sink);

  uint64_t malformed() const { return malformed_; }

  model::CallChain ChainOf(std::span<const uint64_t> kernel, std::span<const uint64_t> user) const;

 private:
  bool DecodeInterval(std::span<const std::byte> record, model::EventSink& sink) const;

  const size_t max_stack_;
  uint64_t malformed_ = 0;
};

model::Reason ReasonOf(uint32_t reason);

// `account` as of `to`.
model::TrackedAccount AccountOf(model::Pid pid, model::Tid tid, Nanos from, Nanos to,
                                const offcpu_bpf_account& account);

}  // namespace offcpu::source::bpf
