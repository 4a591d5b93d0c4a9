// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "kernel-compat/event_format.h"
#include "kernel-compat/task_state.h"
#include "model/sched_event.h"

namespace offcpu::kernel_compat {

// The events that make up a recording, and how their raw records are decoded. Each Parse takes the
// text of the event's format file; a format that can't be used is refused with kUnsupported, and
// the message names event and field. A Read needs at most one comparison of lengths, no allocation
// and a few nanoseconds; `raw` is the record from common_type on, and may be longer than the event.

// sched:sched_switch.
struct SwitchFormat {
  uint16_t id = 0;
  FieldLayout prev_comm;
  FieldLayout prev_pid;
  FieldLayout prev_state;
  FieldLayout next_pid;
  FieldLayout common_pid;  // of who runs: always prev_pid; absent in cut formats
  size_t record_size = 0;  // a record holds all fields if it has this many bytes
  StateDecoder states;
};

// `release` chooses the state table where the text has no print line.
Result<SwitchFormat> ParseSwitchFormat(std::string_view text, std::optional<KernelRelease> release);

// Fills all that the record itself tells: threads, names, state and preempt mark. False, and
// nothing is changed, when the record is too short, or when who leaves is not who ran: then the
// format is not the one it was written with, and all fields would be read at wrong places.
inline bool ReadSwitch(std::span<const std::byte> raw, const SwitchFormat& format,
                       model::Switch* out) {
  if (raw.size() < format.record_size) return false;
  const int64_t prev_pid = ReadField(raw, format.prev_pid);
  if (format.common_pid.present() && ReadField(raw, format.common_pid) != prev_pid) return false;
  out->prev_tid = static_cast<model::Tid>(prev_pid);
  out->next_tid = static_cast<model::Tid>(ReadField(raw, format.next_pid));
  const auto decoded = format.states.Decode(ReadField(raw, format.prev_state));
  out->prev_state = decoded.state;
  out->preempted = decoded.preempted;
  out->prev_comm = ReadComm(raw, format.prev_comm);
  return true;
}

// sched:sched_wakeup, sched_waking and sched_wakeup_new, which share one form.
struct WakeupFormat {
  uint16_t id = 0;
  FieldLayout pid;
  FieldLayout success;  // gone since 5.14; 0 there: the thread wasn't asleep
  size_t record_size = 0;
};

Result<WakeupFormat> ParseWakeupFormat(std::string_view text, std::string_view event_name);

enum class WakeupRecord : uint8_t { kWakeup, kNotAsleep, kTooShort };

// Sets *tid for a kWakeup.
inline WakeupRecord ReadWakeup(std::span<const std::byte> raw, const WakeupFormat& format,
                               model::Tid* tid) {
  if (raw.size() < format.record_size) return WakeupRecord::kTooShort;
  if (format.success.present() && ReadField(raw, format.success) == 0) {
    return WakeupRecord::kNotAsleep;
  }
  *tid = static_cast<model::Tid>(ReadField(raw, format.pid));
  return WakeupRecord::kWakeup;
}

// cgroup:cgroup_attach_task: a thread was moved to another cgroup.
struct CgroupAttachFormat {
  uint16_t id = 0;
  FieldLayout pid;
  FieldLayout dst_root;
  FieldLayout dst_id;  // 4 bytes before about 5.5, 8 since
  FieldLayout dst_path;
  size_t record_size = 0;
};

struct CgroupAttach {
  model::Tid tid = 0;
  int32_t root = 0;  // the hierarchy
  uint64_t id = 0;
  std::string_view path;  // within the hierarchy; a view into the record
};

Result<CgroupAttachFormat> ParseCgroupAttachFormat(std::string_view text);

// Nothing when the record is too short or its path lies outside.
std::optional<CgroupAttach> ReadCgroupAttach(std::span<const std::byte> raw,
                                             const CgroupAttachFormat& format);

}  // namespace offcpu::kernel_compat
