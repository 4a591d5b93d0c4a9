// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "kernel-compat/sched_formats.h"
#include "model/sched_event.h"
#include "source/chain_splitter.h"
#include "source/replay/file_bytes.h"
#include "source/replay/known_chains.h"
#include "source/replay/perf_events.h"

namespace offcpu::source::replay {

// The fields of a sample that are read. Spans lie in the record.
struct SampleParts {
  int32_t pid = -1;  // of the task that ran; -1: not told, or reaped
  int32_t tid = -1;
  std::span<const std::byte> chain;  // whole 64-bit words
  bool has_chain = false;
  std::span<const std::byte> raw;
  std::span<const std::byte> user_registers;  // whole 64-bit words; empty: none were taken
  std::span<const std::byte> user_stack;
};

// Takes samples apart by their event's sample_type and read_format, whatever byte order they are
// in. Results may lie in the reader until the next call.
class SampleReader {
 public:
  explicit SampleReader(bool swap) : swap_(swap) {}

  // False when the record ends before its fields do.
  bool Read(std::span<const std::byte> record, const EventTable::Event& event, SampleParts* parts);

  // The fields of a tracepoint. False when they are too short, or ids are none.
  bool ReadSwitch(std::span<const std::byte> raw, const kernel_compat::SwitchFormat& format,
                  model::Switch* event);
  kernel_compat::WakeupRecord ReadWakeup(std::span<const std::byte> raw,
                                         const kernel_compat::WakeupFormat& format,
                                         model::Tid* tid);

  // Splits a call chain at its context markers. A chain of `max_stack` frames was cut.
  model::CallChain ReadChain(std::span<const std::byte> words, uint32_t max_stack);
  // Nothing when the recording is of the other byte order: then it is of another machine.
  model::UserCopy ReadCopy(const SampleParts& parts, const EventAttr& attr);

 private:
  static bool SkipRead(FileBytes& bytes, uint64_t format);
  static bool SkipBranches(FileBytes& bytes, uint64_t branch_type);
  static bool ReadUserPart(FileBytes& bytes, const EventAttr& attr, SampleParts* parts);
  std::span<const std::byte> Native(std::span<const std::byte> raw,
                                    std::initializer_list<kernel_compat::FieldLayout> fields);
  std::span<const uint64_t> Addresses(std::span<const std::byte> words);

  const bool swap_;
  std::vector<std::byte> raw_;
  std::vector<uint64_t> addresses_;
  std::vector<uint64_t> registers_;
  ChainSplitter splitter_;
  KnownChains known_chains_;
};

}  // namespace offcpu::source::replay
