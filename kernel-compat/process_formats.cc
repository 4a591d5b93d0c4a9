// SPDX-License-Identifier: MIT
#include "kernel-compat/process_formats.h"

#include "kernel-compat/field_reader.h"

namespace offcpu::kernel_compat {
namespace {

// CLONE_THREAD of include/uapi/linux/sched.h.
constexpr uint64_t kCloneThread = 0x00010000;

model::Tid ReadTid(std::span<const std::byte> raw, FieldLayout field) {
  return static_cast<model::Tid>(ReadField(raw, field));
}

}  // namespace

Result<NewTaskFormat> ParseNewTaskFormat(std::string_view text) {
  auto event = EventFormat::Parse(text, "task_newtask");
  if (!event) return event.error();
  FieldReader fields(*event);
  NewTaskFormat format;
  format.id = event->id();
  format.parent = fields.Pid("common_pid");
  format.pid = fields.Pid("pid");
  format.clone_flags = fields.Number("clone_flags", {4, 8});  // long before 6.18
  format.record_size = fields.record_size();
  if (fields.error()) return *fields.error();
  return format;
}

std::optional<NewTask> ReadNewTask(std::span<const std::byte> raw, const NewTaskFormat& format) {
  if (raw.size() < format.record_size) return std::nullopt;
  const auto flags = static_cast<uint64_t>(ReadField(raw, format.clone_flags));
  return NewTask{ReadTid(raw, format.parent), ReadTid(raw, format.pid),
                 (flags & kCloneThread) != 0};
}

Result<ExecFormat> ParseExecFormat(std::string_view text) {
  auto event = EventFormat::Parse(text, "sched_process_exec");
  if (!event) return event.error();
  FieldReader fields(*event);
  ExecFormat format;
  format.id = event->id();
  format.pid = fields.Pid("pid");
  format.old_pid = fields.Pid("old_pid");
  format.filename = fields.Text("filename");
  format.record_size = fields.record_size();
  if (fields.error()) return *fields.error();
  return format;
}

std::optional<Exec> ReadExec(std::span<const std::byte> raw, const ExecFormat& format) {
  if (raw.size() < format.record_size) return std::nullopt;
  return Exec{ReadTid(raw, format.pid), ReadTid(raw, format.old_pid),
              ReadText(raw, format.filename)};
}

Result<ExitFormat> ParseExitFormat(std::string_view text) {
  auto event = EventFormat::Parse(text, "sched_process_exit");
  if (!event) return event.error();
  FieldReader fields(*event);
  ExitFormat format;
  format.id = event->id();
  format.pid = fields.Pid("pid");
  format.record_size = fields.record_size();
  if (fields.error()) return *fields.error();
  return format;
}

std::optional<model::Tid> ReadExit(std::span<const std::byte> raw, const ExitFormat& format) {
  if (raw.size() < format.record_size) return std::nullopt;
  return ReadTid(raw, format.pid);
}

Result<RenameFormat> ParseRenameFormat(std::string_view text) {
  auto event = EventFormat::Parse(text, "task_rename");
  if (!event) return event.error();
  FieldReader fields(*event);
  RenameFormat format;
  format.id = event->id();
  format.pid = fields.Pid(event->Has("pid") ? "pid" : "common_pid");
  format.newcomm = fields.Text("newcomm");
  format.record_size = fields.record_size();
  if (fields.error()) return *fields.error();
  return format;
}

std::optional<Rename> ReadRename(std::span<const std::byte> raw, const RenameFormat& format) {
  if (raw.size() < format.record_size) return std::nullopt;
  return Rename{ReadTid(raw, format.pid), ReadComm(raw, format.newcomm)};
}

}  // namespace offcpu::kernel_compat
