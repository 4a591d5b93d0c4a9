// SPDX-License-Identifier: MIT
#include "jfr/events.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"

namespace offcpu::jfr {
namespace {

// Those of all types of events together.
constexpr size_t kMaxPlanSteps = 256U << 10;

// Asked for in front of the selection's own paths.
enum Standard { kStart, kDuration, kThread, kSampledThread, kStack, kStandards };
constexpr std::array<const char*, kStandards> kStandardPaths{"startTime", "duration", "eventThread",
                                                             "sampledThread", "stackTrace"};

std::optional<int64_t> IntegerOf(const Value& value) {
  if (value.kind != ValueKind::kInteger) return std::nullopt;
  return value.Integer();
}

int64_t Times(int64_t value, int64_t factor) {
  int64_t product = 0;
  if (__builtin_mul_overflow(value, factor, &product)) return value < 0 ? INT64_MIN : INT64_MAX;
  return product;
}

}  // namespace

size_t Selection::Add(std::string type, std::vector<std::string> paths) {
  OFFCPU_CHECK(paths.size() <= kMaxPaths);
  items_.push_back({std::move(type), std::move(paths)});
  return items_.size() - 1;
}

void Selection::AddAllOf(const Chunk& chunk) {
  const Metadata& metadata = chunk.metadata();
  for (TypeIndex type = 0; type < metadata.types().size(); ++type) {
    if (chunk.counts()[type] == 0 || Find(metadata.TypeName(type)) != kNothing) continue;
    std::vector<std::string> paths;
    for (const jfr::Field& field : metadata.Fields(type)) {
      if (paths.size() < kMaxPaths) paths.emplace_back(metadata.FieldName(field));
    }
    Add(std::string(metadata.TypeName(type)), std::move(paths));
  }
}

size_t Selection::Find(std::string_view type) const {
  for (size_t i = 0; i < items_.size(); ++i) {
    if (items_[i].type == type) return i;
  }
  return kNothing;
}

EventCursor::EventCursor(const Chunk* chunk, const Selection* selection, Names* names)
    : chunk_(*chunk),
      selection_(*selection),
      names_(*names),
      walk_(chunk->input(), chunk->extent(), kHeaderBytes),
      plans_(chunk->metadata().types().size()),
      steps_left_(kMaxPlanSteps) {}

const Event* EventCursor::Next() {
  EventFrame frame;
  while (walk_.Next(&frame)) {
    if (frame.type_id <= kCheckpointEvent) continue;
    const TypeIndex type = chunk_.metadata().ById(frame.type_id);
    if (type == kNoType) continue;
    const Plan* plan = PlanOf(type);
    if (plan->selected == Selection::kNothing) continue;
    if (ReadEvent(*plan, frame, type)) return &event_;
    ++unreadable_events_;
  }
  plan_ = nullptr;
  return nullptr;
}

EventCursor::Plan* EventCursor::PlanOf(TypeIndex type) {
  std::unique_ptr<Plan>& plan = plans_[type];
  if (plan) return plan.get();
  plan = std::make_unique<Plan>();
  plan->selected = selection_.Find(chunk_.metadata().TypeName(type));
  if (plan->selected == Selection::kNothing) return plan.get();
  std::vector<std::string> paths(kStandardPaths.begin(), kStandardPaths.end());
  const std::vector<std::string>& own = selection_.items()[plan->selected].paths;
  paths.insert(paths.end(), own.begin(), own.end());
  plan->layout = Layout::Compile(chunk_.metadata(), type, paths, steps_left_);
  if (plan->layout) steps_left_ -= plan->layout->steps();
  return plan.get();
}

bool EventCursor::ReadEvent(const Plan& plan, const EventFrame& frame, TypeIndex type) {
  if (!plan.layout) return false;
  const auto payload = Payload(chunk_.input(), chunk_.extent(), frame);
  Wire wire(payload, chunk_.extent().compressed);
  slots_.resize(std::max(slots_.size(), plan.layout->slots()));
  plan.layout->Read(&wire, slots_.data());
  // Bytes left over are fields that the metadata does not know; what was read would be wrong.
  if (!wire.ok() || wire.remaining() > 0) return false;
  plan_ = &plan;
  event_.selected = plan.selected;
  event_.type = type;
  event_.offset = frame.offset;
  event_.start_ticks = IntegerOf(Slot(plan, kStart));
  event_.duration_ticks = IntegerOf(Slot(plan, kDuration));
  const Value& thread = Slot(plan, kThread);
  event_.thread = thread.kind == ValueKind::kKey ? thread : Slot(plan, kSampledThread);
  event_.stack = Slot(plan, kStack);
  return true;
}

const Value& EventCursor::Slot(const Plan& plan, size_t wanted) const {
  static const Value kAbsent;
  const Wanted& place = plan.layout->wanted()[wanted];
  return place.field == nullptr ? kAbsent : slots_[place.slot];
}

Value EventCursor::Field(size_t path) const {
  OFFCPU_CHECK(plan_ != nullptr);
  const Value& value = Slot(*plan_, kStandards + path);
  const std::string& rest = plan_->layout->wanted()[kStandards + path].rest;
  return rest.empty() ? value : names_.Follow(value, rest);
}

const jfr::Field* EventCursor::FieldOf(size_t path) const {
  OFFCPU_CHECK(plan_ != nullptr);
  return plan_->layout->wanted()[kStandards + path].field;
}

std::optional<int64_t> EventCursor::StartEpochNanos() const {
  if (!event_.start_ticks) return std::nullopt;
  return chunk_.header().EpochNanos(*event_.start_ticks);
}

std::optional<int64_t> EventCursor::DurationNanos() const {
  if (!event_.duration_ticks) return std::nullopt;
  return chunk_.header().SpanNanos(*event_.duration_ticks);
}

std::optional<int64_t> SpanNanos(const ChunkHeader& header, Unit unit, int64_t value) {
  if (value == INT64_MIN) return std::nullopt;
  switch (unit) {
    case Unit::kTicks: return header.SpanNanos(value);
    case Unit::kNanos: return value;
    case Unit::kMicros: return Times(value, 1'000);
    case Unit::kMillis: return Times(value, 1'000'000);
    case Unit::kSeconds: return Times(value, 1'000'000'000);
    case Unit::kNone:
    case Unit::kTicksAt:
    case Unit::kEpochMillisAt: break;
  }
  return std::nullopt;
}

std::optional<int64_t> EpochNanos(const ChunkHeader& header, Unit unit, int64_t value) {
  if (value == INT64_MIN) return std::nullopt;
  if (unit == Unit::kTicksAt) return header.EpochNanos(value);
  if (unit == Unit::kEpochMillisAt) return Times(value, 1'000'000);
  return std::nullopt;
}

}  // namespace offcpu::jfr
