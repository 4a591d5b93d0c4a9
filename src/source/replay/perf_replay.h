// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "source/replay/perf_decode.h"
#include "source/replay/perf_reader.h"
#include "source/replay/round_sorter.h"
#include "source/replay/recording.h"

namespace offcpu::source::replay {

// The commands that record what offcpu needs, the first gives most. For messages and pages.
constexpr std::string_view kRecordAll =
    "perf record -a -g -e sched:sched_switch,sched:sched_wakeup";
constexpr std::string_view kRecordTask =
    "perf record -g --switch-events -e sched:sched_switch -p PID";

// How the recording's events make up switches, or why they don't: then the error's hint has the
// command that records them. Right once some records were read.
Result<Plan> MakePlan(const PerfReader& reader);

// A perf.data as a source of events. Times are those of the recording's own clock.
class PerfReplay : public Recording {
 public:
  explicit PerfReplay(std::unique_ptr<PerfReader> reader) : reader_(std::move(reader)) {}

  // Reads some records and makes the plan; an error when the recording can't be used.
  Result<Nanos> Start() override;
  // Reads on, and delivers what is ready.
  void Drain(model::EventSink& sink) override;
  Nanos Stop(model::EventSink& sink) override;

  bool finished() const override { return at_end_; }
  std::vector<std::string> Damages() const override;
  RecordingFacts facts() const override;
  uint64_t RealTimeOf(Nanos time) const override;

  size_t cpu_count() const override;
  std::vector<Note> notes() const override;

  const PerfReader& reader() const { return *reader_; }
  const Plan& plan() const { return plan_; }

 private:
  bool ReadOne();
  void Take(const PerfItem& item);
  bool IsUsed(const PerfItem& item) const;
  void TakeLate(const PerfItem& item);
  void TakeLost(const PerfItem& item);
  void AddLoss(model::Loss loss);
  void Release(Nanos horizon, model::EventSink& sink);
  void ReleaseReady(model::EventSink& sink);
  void DeliverUntimedLoss(model::EventSink& sink);
  void AddWarnings();

  std::unique_ptr<PerfReader> reader_;
  Plan plan_;
  std::optional<PerfDecoder> decoder_;
  RoundSorter sorter_;
  std::vector<Nanos> last_times_;  // by CPU
  Nanos begin_ = 0;
  Nanos released_ = 0;  // nothing older can be delivered any more
  Nanos tried_ = 0;     // the horizon of the last release
  bool at_end_ = false;
  std::optional<Error> error_;
  uint64_t late_ = 0;
  uint64_t without_time_ = 0;
  uint64_t timed_losses_ = 0;
  uint64_t untimed_losses_ = 0;
};

}  // namespace offcpu::source::replay
