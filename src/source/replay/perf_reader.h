// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "model/ids.h"
#include "source/replay/input.h"
#include "source/replay/perf_events.h"
#include "source/replay/perf_file.h"
#include "source/replay/record_stream.h"
#include "source/replay/recording.h"

namespace offcpu::source::replay {

// No machine has more CPUs; a larger number is damage.
constexpr model::Cpu kMaxCpus = 1 << 16;

// What was seen while reading.
struct PerfSeen {
  struct Cpu {
    uint64_t records = 0;
    Nanos first = 0;
    Nanos last = 0;
  };

  static constexpr uint32_t kOtherType = 1024;  // and above: counted together
  std::vector<uint64_t> records = std::vector<uint64_t>(kOtherType + 1);  // by type
  std::vector<uint64_t> samples;                                          // by event
  uint64_t foreign_samples = 0;  // of no event of the recording
  uint64_t malformed = 0;        // too short for what they should hold
  std::vector<Cpu> cpus;         // by number
  Nanos first = 0;               // times of records, 0: none
  Nanos last = 0;
  uint64_t lost_events = 0;   // PERF_RECORD_LOST
  uint64_t lost_samples = 0;  // PERF_RECORD_LOST_SAMPLES

  // Whether the recording follows CPUs or tasks.
  bool follows_tasks = false;      // perf's own lists name tasks
  bool follows_cpus = false;       // they name CPUs only
  uint64_t switch_outs = 0;        // sched_switch samples with their fields
  uint64_t idle_outs = 0;          // of them: by the idle task
  uint64_t chained = 0;            // of them: by the task that the CPU's last one switched to
  uint64_t switch_in_records = 0;  // PERF_RECORD_SWITCH*
  uint64_t switch_out_records = 0;
  uint64_t cpu_wide_records = 0;  // of both: PERF_RECORD_SWITCH_CPU_WIDE
};

// One record of the kernel, or the mark of a round's end.
struct PerfItem {
  bool round_end = false;
  Record record;
  Nanos time = 0;  // 0: it has none (perf made it up)
  EventTable::Index event = EventTable::kNone;
  model::Cpu cpu = -1;  // -1: it does not tell
};

// Reads the records of a perf.data, takes in what describes the recording, and hands out what the
// kernel wrote.
class PerfReader {
 public:
  static Result<std::unique_ptr<PerfReader>> Open(Input input);

  // False at the end. An error: the recording can't be used, as its events are not understood.
  Result<bool> Next(PerfItem* item);

  bool swap() const { return file_.swap; }
  const PerfFile& file() const { return file_; }
  const PerfFeatures& features() const { return file_.features; }
  EventTable& events() { return events_; }
  const EventTable& events() const { return events_; }
  const PerfSeen& seen() const { return seen_; }
  const std::optional<KernelReference>& kernel_reference() const { return kernel_reference_; }
  // Sentences about what could not be read; empty: the recording is whole.
  std::vector<std::string> Damages() const;
  uint64_t compressed_records() const { return stream_.compressed_records(); }

 private:
  PerfReader(Input input, PerfFile file);
  Result<void> TakeOwnRecord(const Record& record);
  Result<void> TakeFeature(const Record& record);
  Result<void> TakeTracingData(const Record& record);
  void AddDamage(const std::string& damage);
  void TakeTasks(const Record& record);
  bool Classify(PerfItem* item);
  void CountSample(const PerfItem& item);
  void CountSwitch(const PerfItem& item);
  void CountTime(const PerfItem& item);
  void CountLost(const Record& record);
  void NoteKernelMap(const Record& record);

  Input input_;
  PerfFile file_;
  RecordStream stream_;
  EventTable events_;
  PerfSeen seen_;
  std::optional<KernelReference> kernel_reference_;
  std::vector<model::Tid> last_next_;  // by CPU
};

}  // namespace offcpu::source::replay
