// SPDX-License-Identifier: MIT
#include "kernel-compat/sched_formats.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace offcpu::kernel_compat {
namespace {

// Reads fields of one format; keeps the first error and how far the fields reach.
class FieldReader {
 public:
  explicit FieldReader(const EventFormat& format) : format_(format) {}

  FieldLayout Pid(std::string_view name) { return Number(name, {4}); }
  FieldLayout Number(std::string_view name, std::initializer_list<size_t> sizes) {
    return Keep(format_.Number(name, sizes));
  }
  FieldLayout Text(std::string_view name) { return Keep(format_.Text(name)); }

  const std::optional<Error>& error() const { return error_; }
  size_t record_size() const { return record_size_; }

 private:
  FieldLayout Keep(const Result<FieldLayout>& field) {
    if (!field) {
      if (!error_) error_ = field.error();
      return {};
    }
    record_size_ = std::max(record_size_, field->end());
    return *field;
  }

  const EventFormat& format_;
  std::optional<Error> error_;
  size_t record_size_ = 0;
};

}  // namespace

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
