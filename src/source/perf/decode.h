// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

#include "kernel-compat/sched_formats.h"
#include "model/sinks.h"
#include "source/perf/chain.h"
#include "source/perf/record.h"

namespace offcpu::source::perf {

enum class EventKind : uint8_t {
  kSideband,         // fork, exec, comm, exit, mmap2
  kStackSwitch,      // sched_switch with a call chain
  kPlainSwitch,      // sched_switch without
  kWakeup,           // sched_wakeup
  kSwitchRecords,    // PERF_RECORD_SWITCH
  kCgroupAttach,     // cgroup_attach_task
  kContextSwitches,  // PERF_RECORD_SWITCH, samples with call chains, and all of kSideband
};

// Is a lost record of this kind a hole in the sequence of context switches?
constexpr bool IsTiming(EventKind kind) {
  return kind == EventKind::kStackSwitch || kind == EventKind::kPlainSwitch ||
         kind == EventKind::kContextSwitches;
}

// Turns the bytes of one PERF_RECORD_* into a model event. Allocates nothing for a switch.
class RecordDecoder {
 public:
  virtual ~RecordDecoder() = default;
  // `kind` is that of the sample's event; `time` is TimeOfRecord(). Records of a CPU come in order.
  virtual void Decode(std::span<const std::byte> record, EventKind kind, Nanos time, model::Cpu cpu,
                      model::EventSink& sink) = 0;
  // Records of the CPU are missing between the last one and the next.
  virtual void OnGap(model::Cpu) {}
};

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
  bool exit_is_last = false;  // see model::Exit::last
};

struct DecodeCounters {
  uint64_t events = 0;     // records of switches and wake-ups
  uint64_t malformed = 0;  // records that don't have the form their event promised
  uint64_t unknown = 0;    // of a type that is not read
};

// Of all events but kContextSwitches, whose records but switches and samples it knows, too.
class Decoder : public RecordDecoder {
 public:
  explicit Decoder(DecodeOptions options);

  void Decode(std::span<const std::byte> record, EventKind kind, Nanos time, model::Cpu cpu,
              model::EventSink& sink) override;

  const DecodeCounters& counters() const { return counters_; }

 private:
  void DecodeSample(std::span<const std::byte> record, EventKind kind, Nanos time, model::Cpu cpu,
                    model::EventSink& sink);
  void DecodeSwitch(std::span<const std::byte> raw, const SampleHead& head,
                    const model::CallChain& chain, Nanos time, model::Cpu cpu,
                    model::EventSink& sink);
  bool DecodeOther(std::span<const std::byte> record, Nanos time, model::Cpu cpu,
                   model::EventSink& sink);

  const DecodeOptions options_;
  PidTranslator pids_;
  ChainDecoder chains_;
  DecodeCounters counters_;
};

}  // namespace offcpu::source::perf
