// SPDX-License-Identifier: MIT
#include "source/tracefs/lane.h"

#include <algorithm>
#include <utility>

namespace offcpu::source::tracefs {

Lane::Lane(model::Cpu cpu, Pipe& pipe, const kernel_compat::PageLayout& layout, size_t capacity,
           MergeState& state)
    : cpu_(cpu),
      pipe_(&pipe),
      layout_(layout),
      capacity_(capacity),
      state_(state),
      cursor_(layout) {}

// ---- reading ------------------------------------------------------------------------------------

std::unique_ptr<Page> Lane::TakePage() {
  if (free_pages_.empty()) return std::make_unique<Page>(layout_.page_size());
  auto page = std::move(free_pages_.back());
  free_pages_.pop_back();
  return page;
}

void Lane::ReadPages(Nanos now) {
  const size_t first_new = waiting_.size();
  while (failure_.empty()) {
    Waiting next;
    next.page = TakePage();
    auto read = pipe_->ReadPage(next.page->bytes());
    if (!read) failure_ = read.error().message;
    if (!read || !*read) {
      free_pages_.push_back(std::move(next.page));
      break;
    }
    ++counters_.pages;
    const PageHead head = ReadPageHead(*next.page, layout_);
    next.valid = head.valid;
    next.time = head.time;
    if (head.valid && head.missed) {
      next.lost_before = CountMissed(head.missed_count);
      next.lost_until = head.time;
    }
    waiting_.push_back(std::move(next));
    // All events up to `now` are there; a writer that is faster than we are won't hold us here.
    if (head.valid && head.time > now) break;
  }
  if (waiting_.size() - first_new >= capacity_ / 2) NoteDropped(first_new, MonotonicNow());
}

// A page that was full has no room for the number; then it is what the ring has counted since.
uint64_t Lane::CountMissed(uint64_t told) {
  const auto stats = pipe_->ReadStats();
  const uint64_t counted =
      stats && stats->overrun > reported_overrun_ ? stats->overrun - reported_overrun_ : 0;
  uint64_t count = told;
  if (told == 0 || (stats && counted < told)) count = counted;
  count = std::max<uint64_t>(count, 1);
  reported_overrun_ += count;
  return count;
}

// Somewhere before `now`, but after what was read in the round before.
void Lane::NoteDropped(size_t first_new, Nanos now) {
  const auto stats = pipe_->ReadStats();
  if (!stats || stats->dropped <= reported_dropped_ || first_new >= waiting_.size()) return;
  Waiting& first = waiting_[first_new];
  first.lost_before += stats->dropped - reported_dropped_;
  first.lost_until = now;
  reported_dropped_ = stats->dropped;
}

// ---- the stream ---------------------------------------------------------------------------------

bool Lane::HasNext() {
  Peek();
  return next_ != Next::kNone;
}

// True when a loss before the page must be delivered first.
bool Lane::LoadNextPage() {
  if (page_) free_pages_.push_back(std::move(page_));
  Waiting next = std::move(waiting_.front());
  waiting_.pop_front();
  page_ = std::move(next.page);
  if (!cursor_.Load(*page_)) return false;
  if (next.lost_before == 0 && !open_loss_) return false;
  loss_count_ = next.lost_before;
  loss_to_ = std::max(next.time, next.lost_until);
  return true;
}

void Lane::Peek() {
  while (next_ == Next::kNone) {
    if (page_ && cursor_.Next(&record_)) {
      next_ = Next::kRecord;
      next_time_ = record_.time;
      return;
    }
    if (page_ && cursor_.damaged()) {
      ++counters_.damaged_pages;
      free_pages_.push_back(std::move(page_));
      broken_off_ = true;
    }
    const bool at_end = waiting_.empty();
    const bool losing = broken_off_ || (at_end && !failure_.empty());
    broken_off_ = false;
    if (losing && !open_loss_) {
      next_ = Next::kOpenLoss;
      next_time_ = last_time_;
      return;
    }
    if (at_end) return;
    if (LoadNextPage()) {
      next_ = Next::kLoss;
      next_time_ = last_time_;
    }
  }
}

void Lane::Consume() {
  const Next what = std::exchange(next_, Next::kNone);
  if (what == Next::kOpenLoss) {
    open_loss_ = true;
    DeliverLoss(model::kStillLosing, 0);
    return;
  }
  if (what == Next::kLoss) {
    DeliverLoss(loss_to_, loss_count_ + (open_loss_ ? 1 : 0));
    return;
  }
  const TraceRecord record = record_;
  if (record.time < state_.released) {
    ConsumeLate(record);
    return;
  }
  last_time_ = record.time;
  state_.released = record.time;
  switch (state_.decoder->KindOf(record.raw)) {
    case Decoder::Kind::kSwitch: ConsumeSwitch(record); break;
    case Decoder::Kind::kStack: break;  // of an event other than a switch
    case Decoder::Kind::kOther:
      state_.decoder->Decode(record.raw, record.time, cpu_, *state_.sink);
      break;
  }
}

// Its stacks follow at once: interrupts are off while all of them are written (KF 11).
void Lane::ConsumeSwitch(const TraceRecord& record) {
  if (!state_.decoder->BeginSwitch(record.raw, record.time, cpu_)) return;
  Peek();
  while (next_ == Next::kRecord && state_.decoder->KindOf(record_.raw) == Decoder::Kind::kStack &&
         state_.decoder->AddStack(record_.raw)) {
    last_time_ = std::max(last_time_, record_.time);
    next_ = Next::kNone;
    Peek();
  }
  const model::Switch& event = state_.decoder->DeliverSwitch(*state_.sink);
  if (last_next_ == 0 && event.prev_tid != 0) ++hidden_idle_;
  last_next_ = event.next_tid;
}

// A switch can't be put back into its place and is lost; what happened to threads still holds.
void Lane::ConsumeLate(const TraceRecord& record) {
  ++counters_.late_events;
  last_time_ = std::max(last_time_, record.time);
  if (state_.decoder->IsProcessEvent(record.raw)) {
    state_.decoder->Decode(record.raw, state_.released, cpu_, *state_.sink);
    return;
  }
  if (state_.decoder->KindOf(record.raw) == Decoder::Kind::kStack) return;
  state_.sink->OnLoss({cpu_, record.time, open_loss_ ? model::kStillLosing : state_.released, 1});
  ++counters_.lost_events;
  last_next_ = -1;
}

// The missing events are newer than all that was delivered: each round reads all there is.
void Lane::DeliverLoss(Nanos to, uint64_t count) {
  if (to != model::kStillLosing) open_loss_ = false;
  counters_.lost_events += count;
  last_next_ = -1;
  const Nanos from = std::max(last_time_, state_.released);
  state_.sink->OnLoss({cpu_, from, std::max(from, to), count});
}

void Lane::FinishLosses(Nanos window_end) {
  const auto stats = pipe_->ReadStats();
  uint64_t count = open_loss_ ? 1 : 0;
  if (stats && stats->overrun > reported_overrun_) count += stats->overrun - reported_overrun_;
  if (stats && stats->dropped > reported_dropped_) count += stats->dropped - reported_dropped_;
  if (count > 0) DeliverLoss(std::max(window_end, last_time_), count);
}

}  // namespace offcpu::source::tracefs
