// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/loss.h"
#include "model/sinks.h"
#include "source/tracefs/decode.h"
#include "source/tracefs/page.h"
#include "source/tracefs/pipe.h"

namespace offcpu::source::tracefs {

struct LaneCounters {
  uint64_t lost_events = 0;    // of all kinds: nothing tells which
  uint64_t late_events = 0;    // older than what had been delivered
  uint64_t damaged_pages = 0;  // the rest of them is counted as one lost event
  uint64_t pages = 0;
};

// What is shared by the lanes of one source while they are merged.
struct MergeState {
  model::EventSink* sink = nullptr;
  Decoder* decoder = nullptr;
  Nanos released = 0;  // newest time that was delivered
};

// One CPU's ring, read as a stream for source::Merge. Pages are copied out of the ring when it is
// read, and wait here until their events are delivered.
//
// Losses. The ring overwrites its oldest pages, and the next page that is read says so; the missing
// events lie between the last one that was read before and the first of that page. Events that were
// not written at all only show in the ring's counts, which are looked at when a ring was found
// half full, and at the end.
class Lane {
 public:
  // `capacity`: the ring's pages.
  Lane(model::Cpu cpu, Pipe& pipe, const kernel_compat::PageLayout& layout, size_t capacity,
       MergeState& state);

  model::Cpu cpu() const { return cpu_; }
  const LaneCounters& counters() const { return counters_; }
  // Switches from the CPU's idle task were missing (KF 0).
  uint64_t hidden_idle() const { return hidden_idle_; }
  // Why the ring could not be read any more; empty while it could.
  const std::string& failure() const { return failure_; }

  // Takes everything that was written up to `now`; to be called for all lanes before they are
  // merged.
  void ReadPages(Nanos now);
  // After tracing was switched off and everything was consumed: losses that no page told of.
  void FinishLosses(Nanos window_end);
  // The pipe is used no more.
  void DetachPipe() { pipe_ = nullptr; }

  // source::Merge's stream.
  bool HasNext();
  Nanos next_time() const { return next_time_; }
  void Consume();

 private:
  enum class Next : uint8_t { kNone, kRecord, kLoss, kOpenLoss };

  struct Waiting {
    std::unique_ptr<Page> page;
    Nanos time = 0;
    bool valid = false;
    uint64_t lost_before = 0;  // events
    Nanos lost_until = 0;
  };

  std::unique_ptr<Page> TakePage();
  uint64_t CountMissed(uint64_t told);
  void NoteDropped(size_t first_new, Nanos now);
  void Peek();
  bool LoadNextPage();
  void ConsumeSwitch(const TraceRecord& record);
  void ConsumeLate(const TraceRecord& record);
  void DeliverLoss(Nanos to, uint64_t count);

  const model::Cpu cpu_;
  Pipe* pipe_;
  const kernel_compat::PageLayout layout_;
  const size_t capacity_;
  MergeState& state_;

  std::deque<Waiting> waiting_;
  std::vector<std::unique_ptr<Page>> free_pages_;
  std::unique_ptr<Page> page_;  // the cursor's
  PageCursor cursor_;

  Next next_ = Next::kNone;
  Nanos next_time_ = 0;
  TraceRecord record_;
  Nanos last_time_ = 0;  // of the record before
  Nanos loss_to_ = 0;    // of kLoss
  uint64_t loss_count_ = 0;
  bool broken_off_ = false;  // the rest of a page is lost, and that is not delivered yet
  bool open_loss_ = false;   // delivered, and its end not yet

  uint64_t reported_overrun_ = 0;
  uint64_t reported_dropped_ = 0;
  model::Tid last_next_ = -1;
  uint64_t hidden_idle_ = 0;
  std::string failure_;
  LaneCounters counters_;
};

}  // namespace offcpu::source::tracefs
