// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "kernel-compat/sched_formats.h"
#include "source/replay/perf_file.h"
#include "source/replay/record_stream.h"

namespace offcpu::source::replay {

// What an event of a recording is good for.
enum class Role : uint8_t {
  kOther,          // nothing here: cycles never become time off the CPU (D9)
  kSwitch,         // sched:sched_switch with its fields
  kBareSwitch,     // sched:sched_switch without (no PERF_SAMPLE_RAW, or no format)
  kWakeup,         // sched:sched_wakeup
  kWaking,         // sched:sched_waking; serves where there is no kWakeup
  kContextSwitch,  // the software event context-switches: call chains for switch records
};

// The events of a recording, and which of them a record belongs to.
class EventTable {
 public:
  using Index = uint16_t;
  static constexpr Index kNone = 0xffff;
  static constexpr Index kMost = 30'000;

  struct Event {
    PerfEvent described;
    RecordLayout layout;
    Role role = Role::kOther;
  };

  explicit EventTable(bool swap) : swap_(swap) {}

  // Events beyond 30,000 are left out.
  void Add(PerfEvent event);
  // Finds out roles from formats and names; again whenever one of the two is new. A format that
  // can't be used is an error, which names it.
  Result<void> AssignRoles(const PerfFeatures& features);

  // An error where several events write records that don't say whose they are.
  Result<void> CheckIds() const;

  // The event of a record; the first one for records that perf made up itself (id 0); kNone for an
  // id that no event has, or a record too short to have one.
  Index EventOf(const Record& record);

  const std::vector<Event>& events() const { return events_; }
  std::vector<Event>& events() { return events_; }
  bool Has(Role role) const;

  const kernel_compat::SwitchFormat& switch_format() const { return switch_format_; }
  const kernel_compat::WakeupFormat& wakeup_format(Role role) const {
    return role == Role::kWaking ? waking_format_ : wakeup_format_;
  }

 private:
  Role RoleOf(const Event& event) const;

  const bool swap_;
  std::vector<Event> events_;
  std::unordered_map<uint64_t, Index> by_id_;
  // Id and event of ids seen last: there are few, and they come again and again.
  struct Recent {
    uint64_t id = 0;
    Index event = kNone;
  };
  std::array<Recent, 64> recent_{};
  bool ids_agree_ = true;
  std::optional<uint64_t> switch_id_, wakeup_id_, waking_id_;  // attr.config of the tracepoints
  kernel_compat::SwitchFormat switch_format_;
  kernel_compat::WakeupFormat wakeup_format_;
  kernel_compat::WakeupFormat waking_format_;
};

}  // namespace offcpu::source::replay
