// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "source/merge.h"
#include "source/perf/lane.h"
#include "source/source.h"

namespace offcpu::source::perf {

// Opens an event, disabled, that is not yet part of a lane.
Result<LaneEvent> OpenLaneEvent(perf_event_attr attr, EventKind kind, Scope scope,
                                int* error_number = nullptr);

// The rings of all CPUs and the events that write to them, delivered as one stream in time order.
class LaneSet {
 public:
  // Opens the event that is to own a CPU's ring.
  using OpenOwner =
      std::function<Result<LaneEvent>(model::Cpu cpu, uint32_t wakeup_bytes, int* error_number)>;

  // `decoder` must outlive the set.
  explicit LaneSet(RecordDecoder& decoder) { state_.decoder = &decoder; }
  LaneSet(const LaneSet&) = delete;  // the lanes refer to it
  LaneSet& operator=(const LaneSet&) = delete;

  // Gives each CPU that is online a ring of `wanted_bytes`, rounded up to a power of two, or all of
  // them smaller ones when the locked-memory budget does not suffice.
  Result<void> Open(const std::vector<model::Cpu>& cpus, size_t wanted_bytes,
                    const OpenOwner& open_owner);
  // The event's records go to the lane's ring from now on.
  static Result<void> Join(Lane& lane, LaneEvent event);

  const std::vector<std::unique_ptr<Lane>>& lanes() const { return lanes_; }
  Lane* Find(model::Cpu cpu);
  size_t buffer_bytes() const { return buffer_bytes_; }
  // A sentence where the rings are smaller than wanted.
  std::optional<std::string> BudgetWarning() const;
  std::vector<int> poll_fds() const;
  void AddNotes(std::vector<Note>* notes) const;

  Result<void> Enable(EventKind kind);
  // As in Source.
  void Drain(model::EventSink& sink);
  Nanos Stop(model::EventSink& sink);

 private:
  enum class Opened : uint8_t { kAll, kOverBudget };
  Result<Opened> TryOpen(const std::vector<model::Cpu>& cpus, const OpenOwner& open_owner);
  void Round(Nanos horizon, model::EventSink& sink);

  size_t wanted_bytes_ = 0;
  size_t buffer_bytes_ = 0;
  MergeState state_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::unique_ptr<Merge<Lane>> merge_;
  Nanos last_round_ = 0;  // the clock before the first head of the round before
};

}  // namespace offcpu::source::perf
