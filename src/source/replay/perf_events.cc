// SPDX-License-Identifier: MIT
#include "source/replay/perf_events.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <utility>

#include "source/replay/file_bytes.h"

namespace offcpu::source::replay {
namespace {

std::optional<kernel_compat::KernelRelease> ReleaseOf(const PerfFeatures& features) {
  auto release = kernel_compat::ParseKernelRelease(features.release);
  if (!release) return std::nullopt;
  return *release;
}

}  // namespace

void EventTable::Add(PerfEvent event) {
  if (events_.size() >= kMost) return;
  const auto index = static_cast<Index>(events_.size());
  for (const uint64_t id : event.ids) by_id_.emplace(id, index);
  recent_ = {};
  Event added{std::move(event), {}, Role::kOther};
  added.layout = LayoutOf(added.described.attr);
  added.role = RoleOf(added);
  if (!events_.empty()) {
    const RecordLayout& first = events_.front().layout;
    ids_agree_ = ids_agree_ && first.id != 0 && first.id == added.layout.id &&
                 first.trailer_id == added.layout.trailer_id;
  }
  events_.push_back(std::move(added));
}

Result<void> EventTable::AssignRoles(const PerfFeatures& features) {
  for (const FormatText& format : features.formats) {
    if (format.name == "sched_switch") {
      auto parsed = kernel_compat::ParseSwitchFormat(format.text, ReleaseOf(features));
      if (!parsed) return parsed.error();
      switch_format_ = *parsed;
      switch_id_ = format.id;
    } else if (format.name == "sched_wakeup" || format.name == "sched_waking") {
      auto parsed = kernel_compat::ParseWakeupFormat(format.text, format.name);
      if (!parsed) return parsed.error();
      const bool waking = format.name == "sched_waking";
      (waking ? waking_format_ : wakeup_format_) = *parsed;
      (waking ? waking_id_ : wakeup_id_) = format.id;
    }
  }
  for (Event& event : events_) event.role = RoleOf(event);
  return {};
}

Role EventTable::RoleOf(const Event& event) const {
  const EventAttr& attr = event.described.attr;
  const bool has_fields = (attr.sample_type & PERF_SAMPLE_RAW) != 0;
  if (attr.type == PERF_TYPE_SOFTWARE && attr.config == PERF_COUNT_SW_CONTEXT_SWITCHES) {
    return Role::kContextSwitch;
  }
  if (attr.type != PERF_TYPE_TRACEPOINT) return Role::kOther;
  if (switch_id_ == attr.config) return has_fields ? Role::kSwitch : Role::kBareSwitch;
  if (event.described.name == "sched:sched_switch" && !switch_id_) return Role::kBareSwitch;
  if (has_fields && wakeup_id_ == attr.config) return Role::kWakeup;
  if (has_fields && waking_id_ == attr.config) return Role::kWaking;
  return Role::kOther;
}

Result<void> EventTable::CheckIds() const {
  if (events_.empty()) return Failed("the recording has no events");
  if (ids_agree_) return {};
  return Failed("the recording has several events, and its records do not tell whose they are",
                "record with a perf of Linux 3.12 or newer");
}

bool EventTable::Has(Role role) const {
  return std::any_of(events_.begin(), events_.end(),
                     [role](const Event& event) { return event.role == role; });
}

EventTable::Index EventTable::EventOf(const Record& record) {
  if (events_.empty()) return kNone;
  if (events_.size() == 1) return 0;
  const RecordLayout& layout = events_.front().layout;
  uint64_t id = 0;
  if (record.type == PERF_RECORD_SAMPLE) {
    if (record.bytes.size() < layout.id + sizeof(id)) return kNone;
    id = LoadInteger<uint64_t>(record.bytes.data() + layout.id, swap_);
  } else if (layout.trailer_id != 0) {
    if (record.bytes.size() < size_t{8} + layout.trailer_id) return kNone;
    id =
        LoadInteger<uint64_t>(record.bytes.data() + record.bytes.size() - layout.trailer_id, swap_);
  }
  if (id == 0) return 0;
  Recent& recent = recent_[id % recent_.size()];
  if (recent.id == id) return recent.event;
  const auto found = by_id_.find(id);
  recent = {id, found == by_id_.end() ? kNone : found->second};
  return recent.event;
}

}  // namespace offcpu::source::replay
