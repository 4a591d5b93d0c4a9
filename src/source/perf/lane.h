// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "model/sinks.h"
#include "source/perf/attr.h"
#include "source/perf/decode.h"
#include "source/perf/ring.h"

namespace offcpu::source::perf {

// An event whose records go to a lane's ring.
struct LaneEvent {
  UniqueFd fd;
  perf_event_attr attr{};
  uint64_t id = 0;
  EventKind kind = EventKind::kSideband;
};

// Records of an event that the kernel has dropped so far.
using LossReader = std::function<uint64_t(const LaneEvent&)>;

struct LaneCounters {
  uint64_t lost_events = 0;    // records of context switches, or of an unknown kind, that were lost
  uint64_t lost_other = 0;     // surely only wake-ups and side-band records
  uint64_t late_events = 0;    // older than what had been delivered
  uint64_t corrupt_bytes = 0;  // skipped because a record's length made no sense
};

// What is shared by the lanes of one source while they are merged.
struct MergeState {
  model::EventSink* sink = nullptr;
  RecordDecoder* decoder = nullptr;
  Nanos released = 0;  // newest time that was delivered
};

// One CPU's events and the ring they write to, read as a stream for source::Merge. Records stay in
// the ring while they are looked at.
//
// Losses. A LOST record stands where records are missing but carries the time at which there was
// room again, so it is delivered at the time of the record before it. A ring that is found nearly
// full may have lost records that no LOST record tells of yet: the kernel's own counts tell
// (PERF_FORMAT_LOST), and the loss is delivered at once, open, until the LOST record comes. With
// this no event of another CPU is delivered before a loss that lies earlier.
class Lane {
 public:
  // `read_lost` is empty where the kernel does not count losses: then a full ring is taken for one.
  Lane(model::Cpu cpu, PerfRing ring, std::vector<LaneEvent> events, MergeState& state,
       LossReader read_lost);

  model::Cpu cpu() const { return cpu_; }
  int poll_fd() const { return events_.front().fd.get(); }
  const LaneCounters& counters() const { return counters_; }
  std::vector<LaneEvent>& events() { return events_; }

  // Takes what has been written so far; to be called for all lanes before they are merged.
  void TakeHead();
  // Gives what was consumed back to the kernel.
  void Release();
  // After the events were disabled and everything was consumed: losses that no record told of.
  void FinishLosses(Nanos window_end);

  // source::Merge's stream.
  bool HasNext();
  Nanos next_time() const { return next_time_; }
  void Consume();

 private:
  enum class Next : uint8_t { kNone, kRecord, kLost, kOpenLoss };

  void Peek();
  void ConsumeLost();
  void DeliverLoss(Nanos to, uint64_t count);
  bool LostTimingEvents(uint64_t newly_reported);
  EventKind KindOf(std::span<const std::byte> record) const;

  const model::Cpu cpu_;
  PerfRing ring_;
  std::vector<LaneEvent> events_;
  MergeState& state_;
  const LossReader read_lost_;

  uint64_t head_ = 0;
  uint64_t position_ = 0;
  Next next_ = Next::kNone;
  Nanos next_time_ = 0;
  Nanos last_time_ = 0;  // of the record before
  std::span<const std::byte> record_;

  bool pending_open_loss_ = false;  // to be delivered behind the last record of this round
  bool corrupt_ = false;            // ... because of a record that made no sense
  bool open_loss_ = false;          // delivered, and its end not yet
  uint64_t reported_ = 0;           // sum of all LOST records
  uint64_t timing_reconciled_ = 0;  // timing losses when all losses had been reported
  LaneCounters counters_;
};

}  // namespace offcpu::source::perf
