// SPDX-License-Identifier: MIT
#include "source/replay/ring_replay.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "source/merge.h"
#include "source/replay/null_sink.h"
#include "source/replay/ring_lane.h"

namespace offcpu::source::replay {
namespace {

constexpr uint32_t kMaxStack = 1024;
constexpr int kPagesToLookAt = 256;  // of each CPU
// What is delivered at a time, so that stacks are handed on meanwhile.
constexpr Nanos kSlice = kNanosPerSecond / 4;

}  // namespace

RingReplay::RingReplay(RingRecording recording) : recording_(std::move(recording)) {
  tracefs::DecodeOptions options{recording_.formats, {true, true, true}, kMaxStack, {}};
  decoder_ = std::make_unique<tracefs::Decoder>(std::move(options), threads_);
  warnings_ = recording_.warnings;
  recording_.facts.wakeups = HoldsWakeups();
  for (const RingRecording::Cpu& cpu : recording_.cpus) {
    pages_.push_back(cpu.open());
    lanes_.push_back(std::make_unique<RingLane>(
        cpu.number, *pages_.back(), recording_.layout,
        RingState{&sink_, decoder_.get(), &counters_, &released_}, recording_.formats));
  }
}

RingReplay::~RingReplay() = default;

// A recording may have the format of an event that was not recorded, and nothing says which were.
bool RingReplay::HoldsWakeups() const {
  const tracefs::Formats& formats = recording_.formats;
  if (formats.wakeup.id == 0) return false;
  tracefs::Page page(recording_.layout.page_size());
  tracefs::PageCursor cursor(recording_.layout);
  for (const RingRecording::Cpu& cpu : recording_.cpus) {
    const auto pages = cpu.open();
    for (int i = 0; i < kPagesToLookAt && pages->Read(page.bytes()); ++i) {
      if (!cursor.Load(page)) continue;
      tracefs::TraceRecord record;
      while (cursor.Next(&record)) {
        if (kernel_compat::ReadField(record.raw, formats.head.type) == formats.wakeup.id)
          return true;
      }
    }
  }
  return false;
}

Result<Nanos> RingReplay::Start() {
  Nanos first = std::numeric_limits<Nanos>::max();
  for (const auto& lane : lanes_) {
    if (lane->HasNext() && lane->next_time() != 0) first = std::min(first, lane->next_time());
  }
  if (first == std::numeric_limits<Nanos>::max()) return Failed("the recording has no events");
  released_ = first;
  horizon_ = first;
  return first;
}

void RingReplay::Drain(model::EventSink& sink) {
  sink_.set_sink(&sink);
  std::vector<RingLane*> lanes;
  Nanos next = std::numeric_limits<Nanos>::max();
  for (const auto& lane : lanes_) {
    lanes.push_back(lane.get());
    if (lane->HasNext()) next = std::min(next, lane->next_time());
  }
  if (next == std::numeric_limits<Nanos>::max()) {
    finished_ = true;
    return;
  }
  horizon_ = std::max(horizon_, next);
  horizon_ += std::min(kSlice, std::numeric_limits<Nanos>::max() - horizon_);
  Merge<RingLane>(std::move(lanes)).Run(horizon_);
}

Nanos RingReplay::Stop(model::EventSink& sink) {
  sink_.set_sink(&sink);
  for (const auto& lane : lanes_) lane->FinishLoss(released_);
  AddWarnings();
  return released_;
}

std::vector<std::string> RingReplay::Damages() const {
  std::vector<std::string> damages;
  if (counters_.damaged_pages > 0) {
    damages.push_back(fmt::format("{} pages are damaged", counters_.damaged_pages));
  }
  if (counters_.cut_cpus > 0) {
    damages.push_back(fmt::format("the last pages of {} CPUs are missing", counters_.cut_cpus));
  }
  if (const uint64_t malformed = decoder_->counters().malformed; malformed > 0) {
    damages.push_back(fmt::format("{} records do not have the form of their event", malformed));
  }
  return damages;
}

Result<void> RingReplay::CheckUse() const {
  if (!decoder_->misread_event().empty()) {
    return Failed(
        fmt::format("the format of {} does not describe its records: they name threads "
                    "that cannot exist",
                    decoder_->misread_event()));
  }
  if (counters_.switches > 0) return {};
  return Failed("the recording has no sched_switch events",
                "record with: trace-cmd record -e sched:sched_switch -e sched:sched_wakeup -T");
}

std::vector<Note> RingReplay::notes() const {
  return {{"events", decoder_->counters().events},
          {"malformed_records", decoder_->counters().malformed},
          {"late_events", counters_.late},
          {"damaged_pages", counters_.damaged_pages}};
}

void RingReplay::AddWarnings() {
  const std::string& clock = recording_.clock;
  if (clock == "local" || clock.empty()) {
    warnings_.push_back(
        fmt::format("the trace clock was {}: times of different CPUs may not fit each other "
                    "(trace-cmd record -C mono)",
                    clock.empty() ? "not told" : "'local', each CPU's own"));
  } else if (clock != "mono") {
    warnings_.push_back(
        fmt::format("times are those of the trace clock '{}', not of CLOCK_MONOTONIC", clock));
  }
  if (sink_.any()) {
    warnings_.push_back(
        "the recording does not tell which process some threads belong to: each stands for one of "
        "its own");
  }
  for (std::string& damage : Damages()) warnings_.push_back(std::move(damage));
  if (counters_.switches > 0 && !recording_.formats.switches.states.has_preempt_mark()) {
    warnings_.push_back("this kernel does not mark preemption: preempted shows as runnable");
  }
}

RecordingInfo RingReplay::Describe() {
  RecordingInfo info;
  info.format = recording_.format;
  info.written_by = recording_.written_by;
  info.host = recording_.facts.host;
  info.kernel = recording_.facts.kernel_release;
  info.machine = recording_.facts.machine;
  info.cpus = static_cast<uint32_t>(recording_.cpus.size());
  const auto begin = Start();
  if (!begin) {
    info.refusal = begin.error();
    return info;
  }
  NullSink sink;
  while (!finished()) Drain(sink);
  const Nanos end = Stop(sink);
  info.start_ns = *begin;
  info.window_ns = end - *begin;
  const auto add = [&](const char* name, const char* use, uint64_t count) {
    if (count > 0) info.events.push_back({name, use, recording_.clock, count});
  };
  add("sched:sched_switch", "switches", counters_.switches);
  add("sched:sched_wakeup", "wake-ups", counters_.wakeups);
  add("stacks", "call chains", counters_.stacks);
  add("others", "threads, or nothing", counters_.others);
  for (size_t i = 0; i < lanes_.size(); ++i) {
    const RingSeen& seen = lanes_[i]->seen();
    if (seen.records == 0) continue;
    info.per_cpu.push_back({recording_.cpus[i].number, seen.records,
                            std::max(seen.first, *begin) - *begin,
                            std::max(seen.last, *begin) - *begin});
  }
  info.lost_events = counters_.lost;
  info.malformed = decoder_->counters().malformed;
  info.damages = Damages();
  if (auto usable = CheckUse(); !usable) info.refusal = usable.error();
  return info;
}

}  // namespace offcpu::source::replay
