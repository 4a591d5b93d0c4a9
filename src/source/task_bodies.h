// SPDX-License-Identifier: MIT
#pragma once

#include <linux/perf_event.h>

#include <cstdint>

#include "model/process_event.h"

// Bodies of PERF_RECORD_* about tasks, in a ring or in a file (perf_event_open(2)). A Cursor is
// base's Bytes, or one that changes the byte order.
namespace offcpu::source {

enum class TaskBody : uint8_t {
  kRead,
  kForeign,    // of a task outside the recorder's pid namespace
  kMalformed,  // too short, or with ids that none can have
};

inline TaskBody JudgeIds(model::Pid pid, model::Tid tid) {
  if (pid <= 0 || tid <= 0) return TaskBody::kForeign;
  return model::IsPossibleTid(pid) && model::IsPossibleTid(tid) ? TaskBody::kRead
                                                                : TaskBody::kMalformed;
}

// PERF_RECORD_FORK and PERF_RECORD_EXIT.
template <class Cursor>
TaskBody ReadForkBody(Cursor& body, model::Fork* fork) {
  fork->pid = body.template Read<int32_t>();
  fork->parent_pid = body.template Read<int32_t>();
  fork->tid = body.template Read<int32_t>();
  fork->parent_tid = body.template Read<int32_t>();
  return body.ok() ? JudgeIds(fork->pid, fork->tid) : TaskBody::kMalformed;
}

// PERF_RECORD_COMM; `misc` is its header's.
template <class Cursor>
TaskBody ReadCommBody(Cursor& body, uint16_t misc, model::CommChange* change) {
  change->pid = body.template Read<int32_t>();
  change->tid = body.template Read<int32_t>();
  change->exec = (misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
  change->comm = model::MakeComm(body.TakeString());
  return body.ok() ? JudgeIds(change->pid, change->tid) : TaskBody::kMalformed;
}

}  // namespace offcpu::source
