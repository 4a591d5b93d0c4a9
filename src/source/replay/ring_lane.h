// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "source/replay/ring_replay.h"

namespace offcpu::source::replay {

// What the lanes of one recording share while they are merged.
struct RingState {
  model::EventSink* sink = nullptr;
  tracefs::Decoder* decoder = nullptr;
  RingCounters* counters = nullptr;
  Nanos* released = nullptr;  // newest time that was delivered
};

// One CPU's pages as a stream for source::Merge.
class RingLane {
 public:
  RingLane(model::Cpu cpu, PageFile& pages, const kernel_compat::PageLayout& layout,
           RingState state, const tracefs::Formats& formats);

  const RingSeen& seen() const { return seen_; }

  // After the last event of all lanes: the end of a loss that lasts to it.
  void FinishLoss(Nanos end);

  // source::Merge's stream. The time is 0 for a loss without any record before it.
  bool HasNext();
  Nanos next_time() const { return next_time_; }
  void Consume();

 private:
  enum class Next : uint8_t { kNone, kRecord, kLoss, kOpenLoss };

  void Peek();
  bool LoadPage();
  void NoteDamagedPage();
  void NoteEnd();
  void ConsumeSwitch(const tracefs::TraceRecord& record);
  void ConsumeLate(const tracefs::TraceRecord& record);
  uint16_t TypeOf(const tracefs::TraceRecord& record) const;
  void Count(const tracefs::TraceRecord& record);

  const model::Cpu cpu_;
  PageFile& pages_;
  const kernel_compat::PageLayout layout_;
  const RingState state_;
  const tracefs::Formats& formats_;
  tracefs::Page page_;
  tracefs::PageCursor cursor_;
  bool loaded_ = false;
  bool at_end_ = false;

  Next next_ = Next::kNone;
  Nanos next_time_ = 0;
  tracefs::TraceRecord record_;
  Nanos loss_from_ = 0;
  Nanos loss_to_ = 0;
  uint64_t loss_count_ = 0;  // since the last record, not delivered yet
  bool open_loss_ = false;   // delivered without its count and end
  RingSeen seen_;
};

}  // namespace offcpu::source::replay
