// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "kernel-compat/event_format.h"
#include "model/sched_event.h"

namespace offcpu::kernel_compat {

// The trace events that tell of births, execs, names and ends of threads, for back ends without
// perf's own records of them. Parse and Read as in sched_formats.h: nothing comes of a record that
// is too short.

// task:task_newtask (Linux 3.4). Written by the parent; unlike sched:sched_process_fork it tells a
// new thread from a new process, and it comes for io_uring's workers too.
struct NewTaskFormat {
  uint16_t id = 0;
  FieldLayout parent;  // common_pid
  FieldLayout pid;
  FieldLayout clone_flags;
  size_t record_size = 0;
};
struct NewTask {
  model::Tid parent_tid = 0;
  model::Tid tid = 0;
  bool thread = false;  // of its parent's process
};
Result<NewTaskFormat> ParseNewTaskFormat(std::string_view text);
std::optional<NewTask> ReadNewTask(std::span<const std::byte> raw, const NewTaskFormat& format);

// sched:sched_process_exec (Linux 3.4).
struct ExecFormat {
  uint16_t id = 0;
  FieldLayout pid;
  FieldLayout old_pid;
  FieldLayout filename;
  size_t record_size = 0;
};
struct Exec {
  model::Tid tid = 0;         // the process's leader, whose id the caller has now
  model::Tid caller_tid = 0;  // before
  std::string_view filename;  // a view into the record
};
Result<ExecFormat> ParseExecFormat(std::string_view text);
std::optional<Exec> ReadExec(std::span<const std::byte> raw, const ExecFormat& format);

// sched:sched_process_exit; the last switch-out is still to come.
struct ExitFormat {
  uint16_t id = 0;
  FieldLayout pid;
  size_t record_size = 0;
};
Result<ExitFormat> ParseExitFormat(std::string_view text);
std::optional<model::Tid> ReadExit(std::span<const std::byte> raw, const ExitFormat& format);

// task:task_rename (Linux 3.4). Its pid field may be absent: then it is the writer's.
struct RenameFormat {
  uint16_t id = 0;
  FieldLayout pid;
  FieldLayout newcomm;
  size_t record_size = 0;
};
struct Rename {
  model::Tid tid = 0;
  model::Comm comm{};
};
Result<RenameFormat> ParseRenameFormat(std::string_view text);
std::optional<Rename> ReadRename(std::span<const std::byte> raw, const RenameFormat& format);

}  // namespace offcpu::kernel_compat
