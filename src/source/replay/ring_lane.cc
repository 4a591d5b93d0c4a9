// SPDX-License-Identifier: MIT
#include "source/replay/ring_lane.h"

#include <algorithm>
#include <utility>

namespace offcpu::source::replay {

using tracefs::Decoder;
using tracefs::TraceRecord;

RingLane::RingLane(model::Cpu cpu, PageFile& pages, const kernel_compat::PageLayout& layout,
                   RingState state, const tracefs::Formats& formats)
    : cpu_(cpu),
      pages_(pages),
      layout_(layout),
      state_(state),
      formats_(formats),
      page_(layout.page_size()),
      cursor_(layout) {}

bool RingLane::HasNext() {
  Peek();
  return next_ != Next::kNone;
}

void RingLane::NoteDamagedPage() {
  ++state_.counters->damaged_pages;
  ++loss_count_;  // at least
}

// What is missing behind the last page is missing up to the end of the window.
void RingLane::NoteEnd() {
  at_end_ = true;
  if (pages_.damaged()) {
    ++state_.counters->cut_cpus;
    ++loss_count_;  // at least
  }
  if (loss_count_ == 0) return;
  next_ = Next::kOpenLoss;
  next_time_ = seen_.last;
}

// False when there is none.
bool RingLane::LoadPage() {
  if (!pages_.Read(page_.bytes())) {
    NoteEnd();
    return false;
  }
  const tracefs::PageHead head = tracefs::ReadPageHead(page_, layout_);
  loaded_ = cursor_.Load(page_);
  if (!loaded_) {
    NoteDamagedPage();
    return true;
  }
  if (head.missed) loss_count_ += std::max<uint64_t>(head.missed_count, 1);
  if (loss_count_ > 0) {
    next_ = Next::kLoss;
    next_time_ = seen_.last != 0 ? seen_.last : head.time;
    loss_to_ = head.time;
  }
  return true;
}

void RingLane::Peek() {
  while (next_ == Next::kNone && !at_end_) {
    if (loaded_ && cursor_.Next(&record_)) {
      next_ = Next::kRecord;
      next_time_ = record_.time;
      return;
    }
    if (loaded_ && cursor_.damaged()) NoteDamagedPage();
    loaded_ = false;
    if (!LoadPage()) return;
  }
}

uint16_t RingLane::TypeOf(const TraceRecord& record) const {
  return static_cast<uint16_t>(kernel_compat::ReadField(record.raw, formats_.head.type));
}

void RingLane::Count(const TraceRecord& record) {
  if (seen_.records++ == 0) seen_.first = record.time;
  seen_.last = std::max(seen_.last, record.time);
  const uint16_t type = TypeOf(record);
  RingCounters& counters = *state_.counters;
  if (type == formats_.switches.id) {
    ++counters.switches;
  } else if (type != 0 && type == formats_.wakeup.id) {
    ++counters.wakeups;
  } else if (type != 0 && (type == formats_.kernel_stack.id || type == formats_.user_stack.id)) {
    ++counters.stacks;
  } else {
    ++counters.others;
  }
}

void RingLane::Consume() {
  const Next what = std::exchange(next_, Next::kNone);
  if (what == Next::kLoss || what == Next::kOpenLoss) {
    loss_from_ = std::max(next_time_, *state_.released);
    open_loss_ = true;
    if (what == Next::kLoss) {
      FinishLoss(loss_to_);
    } else {
      state_.sink->OnLoss({cpu_, loss_from_, model::kStillLosing, 0});
    }
    return;
  }
  const TraceRecord record = record_;
  Count(record);
  if (record.time < *state_.released) {
    ConsumeLate(record);
    return;
  }
  *state_.released = record.time;
  switch (state_.decoder->KindOf(record.raw)) {
    case Decoder::Kind::kSwitch: ConsumeSwitch(record); break;
    case Decoder::Kind::kStack: break;  // of an event other than a switch
    case Decoder::Kind::kOther:
      // Recordings hold events of any kind.
      if (state_.decoder->IsProcessEvent(record.raw) ||
          (formats_.wakeup.id != 0 && TypeOf(record) == formats_.wakeup.id)) {
        state_.decoder->Decode(record.raw, record.time, cpu_, *state_.sink);
      }
      break;
  }
}

void RingLane::FinishLoss(Nanos end) {
  if (!std::exchange(open_loss_, false)) return;
  state_.counters->lost += loss_count_;
  state_.sink->OnLoss({cpu_, loss_from_, std::max(loss_from_, end), std::exchange(loss_count_, 0)});
}

// Its stacks follow at once (KF 11).
void RingLane::ConsumeSwitch(const TraceRecord& record) {
  if (!state_.decoder->BeginSwitch(record.raw, record.time, cpu_)) return;
  Peek();
  while (next_ == Next::kRecord && state_.decoder->KindOf(record_.raw) == Decoder::Kind::kStack &&
         state_.decoder->AddStack(record_.raw)) {
    Count(record_);
    next_ = Next::kNone;
    Peek();
  }
  state_.decoder->DeliverSwitch(*state_.sink);
}

// A switch can't be put back into its place and is lost; what happened to threads still holds.
void RingLane::ConsumeLate(const TraceRecord& record) {
  ++state_.counters->late;
  if (state_.decoder->IsProcessEvent(record.raw)) {
    state_.decoder->Decode(record.raw, *state_.released, cpu_, *state_.sink);
  } else if (state_.decoder->KindOf(record.raw) == Decoder::Kind::kSwitch) {
    state_.sink->OnLoss({cpu_, record.time, *state_.released, 1});
  }
}

}  // namespace offcpu::source::replay
