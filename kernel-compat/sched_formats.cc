// SPDX-License-Identifier: MIT
#include "kernel-compat/sched_formats.h"

#include <utility>

#include "kernel-compat/field_reader.h"

namespace offcpu::kernel_compat {
Result<SwitchFormat> ParseSwitchFormat(std::string_view text,
                                       std::optional<KernelRelease> release) {
  auto event = EventFormat::Parse(text, "sched_switch");
  if (!event) return event.error();
  FieldReader fields(*event);
  SwitchFormat format;
  format.id = event->id();
  format.prev_comm = fields.Text("prev_comm");
  format.prev_pid = fields.Pid("prev_pid");
  format.prev_state = fields.Number("prev_state", {4, 8});  // long: 4 bytes on 32-bit kernels
  format.next_pid = fields.Pid("next_pid");
  if (event->Has("common_pid")) format.common_pid = fields.Pid("common_pid");
  format.record_size = fields.record_size();
  if (fields.error()) return *fields.error();
  format.states = StateDecoder::FromPrintText(event->print_text(), release);
  return format;
}

Result<WakeupFormat> ParseWakeupFormat(std::string_view text, std::string_view event_name) {
  auto event = EventFormat::Parse(text, event_name);
  if (!event) return event.error();
  FieldReader fields(*event);
  WakeupFormat format;
  format.id = event->id();
  format.pid = fields.Pid("pid");
  if (event->Has("success")) format.success = fields.Number("success", {1, 4});
  format.record_size = fields.record_size();
  if (fields.error()) return *fields.error();
  return format;
}

Result<CgroupAttachFormat> ParseCgroupAttachFormat(std::string_view text) {
  auto event = EventFormat::Parse(text, "cgroup_attach_task");
  if (!event) return event.error();
  FieldReader fields(*event);
  CgroupAttachFormat format;
  format.id = event->id();
  format.pid = fields.Pid("pid");
  format.dst_root = fields.Number("dst_root", {4});
  format.dst_id = fields.Number("dst_id", {4, 8});
  format.dst_path = fields.Text("dst_path");
  format.record_size = fields.record_size();
  if (fields.error()) return *fields.error();
  return format;
}

std::optional<CgroupAttach> ReadCgroupAttach(std::span<const std::byte> raw,
                                             const CgroupAttachFormat& format) {
  std::span<const std::byte> path;
  if (raw.size() < format.record_size || !ReadBytes(raw, format.dst_path, &path)) {
    return std::nullopt;
  }
  CgroupAttach attach;
  attach.tid = static_cast<model::Tid>(ReadField(raw, format.pid));
  attach.root = static_cast<int32_t>(ReadField(raw, format.dst_root));
  attach.id = static_cast<uint64_t>(ReadField(raw, format.dst_id));
  attach.path = ReadText(raw, format.dst_path);
  return attach;
}

}  // namespace offcpu::kernel_compat
