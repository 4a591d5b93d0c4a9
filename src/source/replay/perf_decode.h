// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "model/sinks.h"
#include "source/replay/perf_reader.h"
#include "source/replay/sample.h"

namespace offcpu::source::replay {

// How a recording's events make up context switches.
struct Plan {
  // sched_switch tells who leaves; else PERF_RECORD_SWITCH does, without task states.
  bool tracepoint = true;
  // Only some tasks were recorded, so that a CPU's events do not follow on each other. Each thread
  // is given a CPU of its own then: what is known of it is a sequence of its own.
  bool per_task = false;
  // The event that ends sleeping; kOther: none was recorded.
  Role wakeup = Role::kOther;
};

// Turns records of a perf.data into model events. Allocates nothing for a switch, once buffers have
// grown.
class PerfDecoder {
 public:
  PerfDecoder(const PerfReader& reader, Plan plan)
      : reader_(reader), plan_(plan), samples_(reader.swap()) {}

  // `event` is that of PerfItem.
  void Decode(Nanos time, EventTable::Index event, std::span<const std::byte> record,
              model::EventSink& sink);
  // Takes care that each thread hears of it where each has a CPU of its own.
  void DeliverLoss(const model::Loss& loss, model::EventSink& sink);

  uint64_t malformed() const { return malformed_; }

 private:
  // What the kernel's records say besides their own fields.
  struct Trailer {
    int32_t pid = -1;
    int32_t tid = -1;
    model::Cpu cpu = -1;
  };
  // The call chain of a software event, until its switch record comes.
  struct PendingChain {
    model::Tid tid = -1;
    std::vector<uint64_t> frames;
    size_t kernel_frames = 0;
    bool truncated = false;
    uint64_t mask = 0;  // of model::UserCopy
    std::vector<uint64_t> registers;
    std::vector<std::byte> stack;
  };

  bool DecodeSample(Nanos time, const EventTable::Event& event, std::span<const std::byte> record,
                    model::EventSink& sink);
  bool DecodeSwitch(Nanos time, model::Cpu cpu, const EventTable::Event& event,
                    const SampleParts& parts, model::EventSink& sink);
  bool KeepChain(model::Cpu cpu, const EventTable::Event& event, const SampleParts& parts);
  bool DecodeOther(Nanos time, const EventTable::Event& event, std::span<const std::byte> record,
                   model::EventSink& sink);
  bool DecodeSwitchRecord(Nanos time, const Record& record, const Trailer& trailer,
                          model::EventSink& sink);
  bool DecodeTask(Nanos time, const Record& record, model::EventSink& sink);
  bool DecodeComm(Nanos time, const Record& record, const Trailer& trailer, model::EventSink& sink);
  bool DecodeMap(Nanos time, const Record& record, model::EventSink& sink);
  Trailer TrailerOf(const EventTable::Event& event, std::span<const std::byte> record) const;
  model::CallChain ChainOf(const EventTable::Event& event, const SampleParts& parts);
  // The CPU to deliver an event of the thread on; -1: not known.
  model::Cpu CpuFor(model::Tid tid, model::Cpu cpu, model::EventSink& sink);

  const PerfReader& reader_;
  const Plan plan_;
  SampleReader samples_;
  uint64_t malformed_ = 0;
  std::vector<PendingChain> pending_;  // by CPU

  std::unordered_set<model::Tid> exiting_;  // where no states are recorded

  // Of Plan::per_task.
  std::unordered_map<model::Tid, model::Cpu> own_cpus_;
  std::vector<uint64_t> losses_heard_;  // by CPU of threads: how many losses
  uint64_t losses_ = 0;
  model::Loss last_loss_;
};

}  // namespace offcpu::source::replay
