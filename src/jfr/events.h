// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jfr/chunk.h"
#include "jfr/layout.h"
#include "jfr/names.h"

namespace offcpu::jfr {

// Which events somebody wants to see, and which of their fields; for all chunks of a recording.
class Selection {
 public:
  // Events named `type` ("jdk.ThreadPark") with the fields at `paths`: a field's name, or names
  // with dots for what lies in a struct or behind a key ("parkedClass.name"). What every event may
  // have (start, duration, thread, stack) needs no path. At most kMaxPaths. Returns the number that
  // the events carry.
  size_t Add(std::string type, std::vector<std::string> paths = {});
  static constexpr size_t kMaxPaths = 200;

  // Like Add, for every type of event that has none of its own yet, with all its fields that are
  // no structs; of a type with more than kMaxPaths the first ones.
  void AddAllOf(const Chunk& chunk);

  struct Item {
    std::string type;
    std::vector<std::string> paths;
  };
  const std::vector<Item>& items() const { return items_; }
  // None: kNothing.
  size_t Find(std::string_view type) const;
  static constexpr size_t kNothing = ~size_t{0};

 private:
  std::vector<Item> items_;
};

// One event, valid until its cursor moves on.
struct Event {
  size_t selected = 0;  // what Selection::Add returned
  TypeIndex type = kNoType;
  uint64_t offset = 0;  // in the chunk
  std::optional<int64_t> start_ticks;
  std::optional<int64_t> duration_ticks;
  Value thread;  // key of eventThread, else of sampledThread; absent where there is neither
  Value stack;   // key of stackTrace
};

// Walks the selected events of a chunk, in the order in which they lie there: not that of their
// times. Others cost no more than reading their size and type. Types are compiled once for each
// chunk, when their first event comes.
class EventCursor {
 public:
  // All of them outlive the cursor.
  EventCursor(const Chunk* chunk, const Selection* selection, Names* names);

  // Null at the end.
  const Event* Next();

  // The current event's value at the path with this number in the selection; what lies behind a
  // key is looked up now. Absent where the type has no such field, or the key's value is missing.
  Value Field(size_t path) const;
  // The field itself (for its unit; the one with the key, where the path goes on behind it); null
  // where the type has none.
  const jfr::Field* FieldOf(size_t path) const;

  // The current event's times on the chunk's clock; none where it has none.
  std::optional<int64_t> StartEpochNanos() const;
  std::optional<int64_t> DurationNanos() const;

  // Selected events whose bytes don't fit the fields of their type; they are not returned.
  uint64_t unreadable_events() const { return unreadable_events_; }

 private:
  // How one type of event is read.
  struct Plan {
    size_t selected = Selection::kNothing;
    std::optional<Layout> layout;
  };

  Plan* PlanOf(TypeIndex type);
  bool ReadEvent(const Plan& plan, const EventFrame& frame, TypeIndex type);
  const Value& Slot(const Plan& plan, size_t wanted) const;

  const Chunk& chunk_;
  const Selection& selection_;
  Names& names_;
  EventWalk walk_;
  std::vector<std::unique_ptr<Plan>> plans_;  // by type; made when they are first needed
  size_t steps_left_;
  const Plan* plan_ = nullptr;  // of the current event
  std::vector<Value> slots_;
  Event event_;
  uint64_t unreadable_events_ = 0;
};

// A number with a unit as a span of nanoseconds; none where the field's unit is no span, or for the
// smallest long, which means "no timeout".
std::optional<int64_t> SpanNanos(const ChunkHeader& header, Unit unit, int64_t value);
// A number with a unit as a point in time, in nanoseconds since the epoch; none likewise.
std::optional<int64_t> EpochNanos(const ChunkHeader& header, Unit unit, int64_t value);

}  // namespace offcpu::jfr
