// SPDX-License-Identifier: MIT
#include "source/perf/lane.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/check.h"
#include "source/perf/record.h"

namespace offcpu::source::perf {
namespace {

bool IsOfProcesses(std::span<const std::byte> record) {
  switch (HeaderOf(record).type) {
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
    case PERF_RECORD_COMM:
    case PERF_RECORD_MMAP2: return true;
    default: return false;
  }
}

}  // namespace

Lane::Lane(model::Cpu cpu, PerfRing ring, std::vector<LaneEvent> events, MergeState& state,
           LossReader read_lost)
    : cpu_(cpu),
      ring_(std::move(ring)),
      events_(std::move(events)),
      state_(state),
      read_lost_(std::move(read_lost)) {
  OFFCPU_CHECK(!events_.empty());
}

void Lane::TakeHead() {
  head_ = ring_.Head();
  const uint64_t used = head_ - ring_.tail();
  const bool nearly_full = used + std::min(kMaxRecordBytes, ring_.size()) > ring_.size();
  if (nearly_full && LostTimingEvents(0)) pending_open_loss_ = true;
  next_ = Next::kNone;
}

void Lane::Release() {
  record_ = {};
  next_ = Next::kNone;
  if (position_ != ring_.tail()) ring_.Release(position_);
}

bool Lane::HasNext() {
  if (next_ == Next::kNone) Peek();
  return next_ != Next::kNone;
}

void Lane::Peek() {
  if (position_ < head_) {
    record_ = ring_.RecordAt(position_, head_ - position_);
    if (record_.empty()) {
      // Nothing tells where the next record begins: what is left of this round is lost.
      counters_.corrupt_bytes += head_ - position_;
      position_ = head_;
      pending_open_loss_ = corrupt_ = true;
    }
  }
  if (position_ < head_) {
    next_ = HeaderOf(record_).type == PERF_RECORD_LOST ? Next::kLost : Next::kRecord;
    next_time_ = next_ == Next::kLost ? last_time_ : TimeOfRecord(record_);
  } else if (pending_open_loss_) {
    next_ = Next::kOpenLoss;
    next_time_ = last_time_;
  }
}

EventKind Lane::KindOf(std::span<const std::byte> record) const {
  uint64_t id = 0;
  if (record.size() >= sizeof(perf_event_header) + sizeof(id)) {
    std::memcpy(&id, record.data() + sizeof(perf_event_header), sizeof(id));
  }
  for (const LaneEvent& event : events_) {
    if (event.id == id) return event.kind;
  }
  return EventKind::kSideband;
}

void Lane::Consume() {
  if (next_ == Next::kOpenLoss) {
    pending_open_loss_ = false;
    next_ = Next::kNone;
    // A LOST record of this very round may have told of it.
    if (!corrupt_ && !LostTimingEvents(0)) return;
    corrupt_ = false;
    open_loss_ = true;
    DeliverLoss(model::kStillLosing, 0);
    return;
  }
  // A full ring that lost nothing, on a kernel that does not count: no LOST record follows.
  if (next_ == Next::kRecord && open_loss_) DeliverLoss(last_time_, 0);
  const auto record = record_;
  const Nanos time = next_time_;
  position_ += record.size();
  if (next_ == Next::kLost) {
    ConsumeLost();
  } else if (time >= state_.released) {
    last_time_ = time;
    state_.released = time;
    state_.decoder->Decode(record, KindOf(record), time, cpu_, *state_.sink);
  } else {
    // Older than what was delivered (the vCPU was held between clock and ring, KF 5). A switch
    // can't be put back into its place and is lost; what happened to processes still holds.
    ++counters_.late_events;
    last_time_ = std::max(last_time_, time);
    if (IsOfProcesses(record)) {
      state_.decoder->Decode(record, KindOf(record), state_.released, cpu_, *state_.sink);
    } else {
      state_.decoder->OnGap(cpu_);
      const Nanos until = open_loss_ ? model::kStillLosing : state_.released;
      state_.sink->OnLoss({cpu_, time, until, 1});
      ++counters_.lost_events;
    }
  }
  next_ = Next::kNone;
}

void Lane::ConsumeLost() {
  Bytes bytes(record_);
  bytes.Skip(sizeof(perf_event_header) + 8);  // id
  const auto count = bytes.Read<uint64_t>();
  const Nanos until = std::max(TimeOfRecord(record_), last_time_);
  if (LostTimingEvents(count)) {
    DeliverLoss(until, count);
  } else {
    if (open_loss_) DeliverLoss(last_time_, 0);
    counters_.lost_other += count;
  }
}

void Lane::DeliverLoss(Nanos to, uint64_t count) {
  if (to != model::kStillLosing) open_loss_ = false;
  counters_.lost_events += count;
  state_.decoder->OnGap(cpu_);
  state_.sink->OnLoss({cpu_, last_time_, to, count});
}

// Whether context switches may be among the records lost since all losses were last accounted for.
// A LOST record does not tell of which event it lost records, the kernel's counts do; but they are
// read later than it was written, so only "none" is certain.
bool Lane::LostTimingEvents(uint64_t newly_reported) {
  reported_ += newly_reported;
  if (!read_lost_) return true;
  uint64_t timing = 0;
  uint64_t all = 0;
  for (const LaneEvent& event : events_) {
    const uint64_t lost = read_lost_(event);
    all += lost;
    if (IsTiming(event.kind)) timing += lost;
  }
  const bool lost_timing = timing != timing_reconciled_;
  if (all == reported_) timing_reconciled_ = timing;
  return lost_timing;
}

void Lane::FinishLosses(Nanos window_end) {
  if (!read_lost_) return;
  uint64_t all = 0;
  for (const LaneEvent& event : events_) all += read_lost_(event);
  if (all <= reported_) return;
  const uint64_t count = all - reported_;
  if (LostTimingEvents(count)) {
    DeliverLoss(std::max(window_end, last_time_), count);
  } else {
    counters_.lost_other += count;
  }
}

}  // namespace offcpu::source::perf
