// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/clock.h"

namespace offcpu::source {

// Merges streams that are each in time order into one, without copying: a binary heap of streams by
// their next time (ties: the earlier stream in the list). A Stream has
//   bool HasNext();          its next event is there
//   Nanos next_time();       of that event
//   void Consume();          delivers it and moves on
template <class Stream>
class Merge {
 public:
  explicit Merge(std::vector<Stream*> streams) : streams_(std::move(streams)) {
    heap_.reserve(streams_.size());
  }

  // Delivers all events that are not newer than `horizon`. Which horizon is safe is the caller's
  // knowledge: no stream may later get an event at or before it.
  void Run(Nanos horizon) {
    heap_.clear();
    for (size_t i = 0; i < streams_.size(); ++i) Push(i, horizon);
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), Later);
      const Item first = heap_.back();
      heap_.pop_back();
      // Stay with one stream while it is the earliest: most switches of a burst are on one CPU.
      Stream& stream = *streams_[first.index];
      do {
        stream.Consume();
      } while (stream.HasNext() && stream.next_time() <= horizon &&
               (heap_.empty() || !Later({stream.next_time(), first.index}, heap_.front())));
      Push(first.index, horizon);
    }
  }

 private:
  struct Item {
    Nanos time;
    size_t index;
  };

  static bool Later(const Item& a, const Item& b) {
    return a.time != b.time ? a.time > b.time : a.index > b.index;
  }

  void Push(size_t index, Nanos horizon) {
    Stream& stream = *streams_[index];
    if (!stream.HasNext() || stream.next_time() > horizon) return;
    heap_.push_back({stream.next_time(), index});
    std::push_heap(heap_.begin(), heap_.end(), Later);
  }

  std::vector<Stream*> streams_;
  std::vector<Item> heap_;
};

}  // namespace offcpu::source
