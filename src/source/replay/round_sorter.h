// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "source/merge.h"

namespace offcpu::source::replay {

// Brings records of many CPUs into time order. perf reads ring after ring, each of which is in
// order, and marks the end of each round: what is not newer than the newest record of the round
// before the last is complete then (KF 5). Where a recording has no rounds, or long ones, only so
// much is held, and what is released too early is the caller's to count.
class RoundSorter {
 public:
  // A kept record. `tag` is the caller's.
  struct Item {
    Nanos time;
    uint32_t chunk;
    uint32_t offset;
    uint16_t size;
    uint16_t tag;
  };

  void Add(Nanos time, uint16_t tag, std::span<const std::byte> bytes) {
    OFFCPU_CHECK(bytes.size() <= UINT16_MAX);
    items_.push_back(Store(time, tag, bytes));
    newest_ = std::max(newest_, time);
  }

  void EndRound() { horizon_ = std::exchange(round_newest_, newest_); }

  // Records not newer than this are all there, as far as the rounds tell.
  Nanos horizon() const { return horizon_; }
  // Half of what is held is not newer than this.
  Nanos Median() {
    std::vector<Nanos> times;
    times.reserve(items_.size());
    for (const Item& item : items_) times.push_back(item.time);
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
  }
  // 0 when nothing is held.
  Nanos Oldest() const {
    Nanos oldest = 0;
    for (const Item& item : items_) {
      if (item.time != 0 && (oldest == 0 || item.time < oldest)) oldest = item.time;
    }
    return oldest;
  }
  bool empty() const { return items_.empty(); }
  size_t held() const { return chunks_.size() * kChunk + items_.size() * sizeof(Item); }

  // Calls visit(time, tag, bytes) for what is not newer than `horizon`, in time order; what has the
  // same time in the order of Add().
  template <class Visit>
  void Release(Nanos horizon, Visit visit) {
    std::vector<Run<Visit>> runs = Runs(visit);
    std::vector<Run<Visit>*> streams;
    streams.reserve(runs.size());
    for (auto& run : runs) streams.push_back(&run);
    Merge<Run<Visit>>(std::move(streams)).Run(horizon);
    Keep(runs);
  }

 private:
  static constexpr size_t kChunk = 1U << 20;
  using Chunk = std::unique_ptr<std::byte[]>;

  // Items that follow each other in time order.
  template <class Visit>
  struct Run {
    RoundSorter* sorter;
    Visit* visit;
    size_t next;
    size_t end;

    bool HasNext() const { return next < end; }
    Nanos next_time() const { return sorter->items_[next].time; }
    void Consume() {
      const Item& item = sorter->items_[next++];
      (*visit)(item.time, item.tag, sorter->BytesOf(item));
    }
  };

  template <class Visit>
  std::vector<Run<Visit>> Runs(Visit& visit) {
    std::vector<Run<Visit>> runs;
    for (size_t i = 0; i < items_.size(); ++i) {
      if (i == 0 || items_[i].time < items_[i - 1].time) runs.push_back({this, &visit, i, i});
      runs.back().end = i + 1;
    }
    return runs;
  }

  // Keeps what was not released where it lies, and lets chunks go that have nothing of it. Records
  // come nearly in time order, so that few chunks are kept for a part of them only.
  template <class R>
  void Keep(const std::vector<R>& runs) {
    std::vector<Item>& old_items = spare_;  // both keep their room
    old_items.swap(items_);
    items_.clear();
    new_places_.assign(chunks_.size(), kGone);
    if (!chunks_.empty()) new_places_.back() = 0;  // it is being filled
    for (const R& run : runs) {
      for (size_t i = run.next; i < run.end; ++i) new_places_[old_items[i].chunk] = 0;
    }
    MoveChunks();
    for (const R& run : runs) {
      for (size_t i = run.next; i < run.end; ++i) {
        items_.push_back(old_items[i]);
        items_.back().chunk = new_places_[old_items[i].chunk];
      }
    }
  }

  void MoveChunks() {
    uint32_t kept = 0;
    for (size_t i = 0; i < chunks_.size(); ++i) {
      if (new_places_[i] == kGone) {
        if (free_.size() < kMaxFree) free_.push_back(std::move(chunks_[i]));
      } else {
        new_places_[i] = kept;
        if (i != kept) chunks_[kept] = std::move(chunks_[i]);
        ++kept;
      }
    }
    chunks_.resize(kept);
  }

  Item Store(Nanos time, uint16_t tag, std::span<const std::byte> bytes) {
    if (used_ + bytes.size() > kChunk) {
      if (free_.empty()) {
        chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(kChunk));
      } else {
        chunks_.push_back(std::move(free_.back()));
        free_.pop_back();
      }
      used_ = 0;
    }
    std::memcpy(chunks_.back().get() + used_, bytes.data(), bytes.size());
    const Item item{time, static_cast<uint32_t>(chunks_.size() - 1), static_cast<uint32_t>(used_),
                    static_cast<uint16_t>(bytes.size()), tag};
    used_ = std::min(kChunk, (used_ + bytes.size() + 7) & ~size_t{7});
    return item;
  }

  std::span<const std::byte> BytesOf(const Item& item) const {
    return {chunks_[item.chunk].get() + item.offset, item.size};
  }

  static constexpr size_t kMaxFree = 16;
  static constexpr uint32_t kGone = ~uint32_t{0};

  std::vector<Item> items_;
  std::vector<Item> spare_;
  std::vector<Chunk> chunks_;
  std::vector<Chunk> free_;
  std::vector<uint32_t> new_places_;  // of chunks, while some are let go
  size_t used_ = kChunk;              // of the last chunk
  Nanos newest_ = 0;
  Nanos round_newest_ = 0;
  Nanos horizon_ = 0;
};

}  // namespace offcpu::source::replay
