// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/clock.h"
#include "model/ids.h"
#include "model/sched_event.h"

namespace offcpu::model {

// A new thread; `pid` differs from `parent_pid` when it is a new process.
struct Fork {
  Nanos time = 0;
  Pid pid = 0;
  Tid tid = 0;
  Pid parent_pid = 0;
  Tid parent_tid = 0;
};

// A thread's name changed, by execve when `exec`.
struct CommChange {
  Nanos time = 0;
  Cpu cpu = 0;  // -1: not known, as in some recordings
  Pid pid = 0;
  Tid tid = 0;
  bool exec = false;
  Comm comm{};
};

// A thread is ending; its last switch-out is still to come.
struct Exit {
  Nanos time = 0;
  Pid pid = 0;
  Tid tid = 0;
  bool last = false;  // or rather, this is the last that is seen of it
};

// An executable mapping appeared (PERF_RECORD_MMAP2). Strings live during the call only.
struct Map {
  Nanos time = 0;
  Pid pid = 0;
  uint64_t start = 0;
  uint64_t length = 0;
  uint64_t file_offset = 0;
  uint32_t device_major = 0;
  uint32_t device_minor = 0;
  uint64_t inode = 0;  // 0 when the mapping has no file
  std::string_view path;
  std::string_view build_id;  // raw bytes, of recordings that have it; empty: not known
};

// A thread, with all others of its process if it leads it, was moved to a cgroup.
struct CgroupMove {
  Nanos time = 0;
  Tid tid = 0;
  std::string_view path;  // from the root of its hierarchy; lives during the call only
};

}  // namespace offcpu::model
