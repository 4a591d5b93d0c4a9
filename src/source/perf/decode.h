// SPDX-License-Identifier: MIT
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "kernel-compat/sched_formats.h"
#include "model/sinks.h"
#include "source/perf/attr.h"

namespace offcpu::source::perf {

enum class EventKind : uint8_t {
  kSideband,       // fork, exec, comm, exit, mmap2
  kStackSwitch,    // sched_switch with a call chain
  kPlainSwitch,    // sched_switch without
  kWakeup,         // sched_wakeup
  kSwitchRecords,  // PERF_RECORD_SWITCH
  kCgroupAttach,   // cgroup_attach_task
};

// Is a lost record of this kind a hole in the sequence of context switches?
constexpr bool IsTiming(EventKind kind) {
  return kind == EventKind::kStackSwitch || kind == EventKind::kPlainSwitch;
}

// Times of a record, from its head or its trailer; 0 when it is too short to have one.
Nanos TimeOfRecord(std::span<const std::byte> record);

// Tracepoint fields carry ids of the initial pid namespace, everything else those of the namespace
// in which the events were opened. Inside a pid namespace of our own the two differ: each
// switch-out tells both, and is where they are learnt. Threads outside our namespace become tid 0.
class PidTranslator {
 public:
  explicit PidTranslator(bool active) : active_(active) {}

  bool active() const { return active_; }
  // `seen` is the head's tid, -1 for a reaped thread.
  model::Tid Learn(model::Tid raw, model::Tid seen);
  model::Tid Translate(model::Tid raw) const;

 private:
  const bool active_;
  std::unordered_map<model::Tid, model::Tid> known_;
};

struct DecodeOptions {
  kernel_compat::SwitchFormat switch_format;
  kernel_compat::WakeupFormat wakeup_format;
  kernel_compat::CgroupAttachFormat cgroup_format;
  uint32_t max_stack = 127;  // a chain of so many frames was cut
  bool translate_pids = false;
};

struct DecodeCounters {
  uint64_t events = 0;     // records of switches and wake-ups
  uint64_t malformed = 0;  // records that don't have the form their event promised
  uint64_t unknown = 0;    // of a type that is not read
};

// Turns the bytes of one PERF_RECORD_* into a model event. Allocates nothing for a switch.
class Decoder {
 public:
  explicit Decoder(DecodeOptions options);

  // `kind` is that of the sample's event; `time` is TimeOfRecord().
  void Decode(std::span<const std::byte> record, EventKind kind, Nanos time, model::Cpu cpu,
              model::EventSink& sink);

  const DecodeCounters& counters() const { return counters_; }

 private:
  struct Head;

  void DecodeSample(std::span<const std::byte> record, EventKind kind, Nanos time, model::Cpu cpu,
                    model::EventSink& sink);
  void DecodeSwitch(std::span<const std::byte> raw, const Head& head, const model::CallChain& chain,
                    Nanos time, model::Cpu cpu, model::EventSink& sink);
  model::CallChain DecodeChain(std::span<const std::byte> bytes);
  std::span<const uint64_t> Addresses(std::span<const std::byte> bytes);
  model::CallChain CopyFrames(std::span<const uint64_t> all);
  bool DecodeOther(std::span<const std::byte> record, Nanos time, model::Cpu cpu,
                   model::EventSink& sink);

  const DecodeOptions options_;
  PidTranslator pids_;
  std::vector<uint64_t> chain_;
  DecodeCounters counters_;
};

}  // namespace offcpu::source::perf
