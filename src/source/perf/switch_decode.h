// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <unordered_set>
#include <vector>

#include "kernel-compat/switch_filter.h"
#include "model/sinks.h"
#include "source/perf/chain.h"
#include "source/perf/decode.h"

namespace offcpu::source::perf {

struct SwitchDecodeOptions {
  bool all_threads = false;  // events of whole CPUs, not of single threads
  uint32_t max_stack = 127;
  kernel_compat::WantedReasons chain_reasons{};  // of others the chain is not told
};

// Decodes what ContextSwitchAttr()'s events write. On a CPU that is, for a switch from A to B
//   SAMPLE of A (where call chains are wanted), SWITCH out of A, SWITCH in of B,
// each where its thread is followed. The thread of a switch record stands in its trailer; the one
// in the body (SWITCH_CPU_WIDE only) is the other one: the next on "out", the previous on "in"
// (A12).
//
// A switch-out comes with prev's task unknown (blocked) or running (the record's preempt bit:
// runnable, preempted or both), without a name, and with the time of the sample if there is one:
// the record's is later by the walk of the stack. next_tid is -1 where it is not known.
//
// A record that comes twice, because two events see the thread, counts once: a thread has to come
// in before it can leave again.
class SwitchDecoder : public RecordDecoder {
 public:
  explicit SwitchDecoder(SwitchDecodeOptions options);

  void Decode(std::span<const std::byte> record, EventKind kind, Nanos time, model::Cpu cpu,
              model::EventSink& sink) override;
  void OnGap(model::Cpu cpu) override;

  DecodeCounters counters() const;
  uint64_t repeated() const { return repeated_; }  // records left out as told before

 private:
  static constexpr model::Tid kNobody = -1;

  // A chain that waits for its switch-out.
  struct Sample {
    model::Tid tid = 0;
    Nanos time = 0;
    std::vector<uint64_t> frames;  // the kernel's, then the user's
    size_t kernel_frames = 0;
    bool truncated = false;
  };
  struct CpuState {
    enum Last : uint8_t { kNothing, kIn, kOut } last = kNothing;  // switch record, and of whom
    model::Tid tid = kNobody;
    model::Tid forked = kNobody;  // by the last fork record
    bool has_sample = false;
    Sample sample;
  };

  void KeepSample(std::span<const std::byte> record, Nanos time, CpuState& cpu);
  bool DecodeSwitchRecord(std::span<const std::byte> record, Nanos time, model::Cpu cpu,
                          model::EventSink& sink);
  void SwitchOut(const model::Switch& event, CpuState& cpu, model::EventSink& sink);
  void Attach(model::Switch* event, CpuState& cpu) const;
  bool NoteProcessRecord(std::span<const std::byte> record, model::Cpu cpu);
  CpuState& CpuAt(model::Cpu cpu);

  const SwitchDecodeOptions options_;
  ChainDecoder chains_;
  Decoder rest_;
  std::vector<CpuState> cpus_;
  std::unordered_set<model::Tid> exiting_;  // whose last switch-out is to come
  DecodeCounters counters_;
  uint64_t repeated_ = 0;
};

}  // namespace offcpu::source::perf
