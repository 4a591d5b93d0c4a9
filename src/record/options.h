// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/given_names.h"
#include "model/ids.h"
#include "sched/state_letters.h"

namespace offcpu::record {

// What to follow. Ids are those of the caller's pid namespace.
struct Target {
  enum class Kind { kProcesses, kThreads, kAll, kCgroup, kCommand };
  Kind kind = Kind::kAll;
  std::vector<model::Pid> pids;      // kProcesses; kCommand: the child
  std::vector<model::Tid> tids;      // kThreads
  std::string cgroup;                // kCgroup: a directory
  std::vector<std::string> command;  // kCommand
  bool follow_children = false;      // processes that followed ones start
};

// Which intervals become entries of the profile; the others are counted.
struct Selection {
  bool blocked = true;
  bool runnable = false;
  bool preempted = false;
  std::optional<Nanos> min_off_cpu;  // strict: only longer ones
  std::optional<Nanos> max_off_cpu;  // strict: only shorter ones
  sched::StateFilter states;
  bool user_threads = true;
  bool kernel_threads = true;
};

struct Options {
  Target target;
  Selection selection;
  std::optional<Nanos> duration;
  bool kernel_stacks = true;
  bool user_stacks = true;
  bool inlines = true;
  bool time_split = true;
  uint32_t max_stack = 0;  // 0: the kernel's limit
  uint64_t buffer_bytes = 8U << 20;
  bool progress = false;         // a line on standard error that is rewritten
  uint32_t sample_hz = 100;      // looks a second, of a back end that samples
  std::string backend = "auto";  // a name of source::BackEnds(), or auto

  // False for a recording that is imported: its threads are not those of this machine, so nothing
  // of them is looked up in /proc, and events alone tell who there was.
  bool live = true;
  std::string symbols_below;  // not live: files of the recording's machine lie below it
  std::shared_ptr<const model::GivenNames> names;  // not live: of frames that have names already
  std::shared_ptr<const std::string>
      kallsyms_text;           // not live: in place of kernel_symbols; or null
  std::string kernel_symbols;  // not live: a kallsyms file of its kernel; empty: there is none
  bool same_host = false;      // not live: the recording was made on this machine
  bool same_kernel = false;    // not live: by this kernel, since it was booted
  std::string command_line;    // for the profile
};

}  // namespace offcpu::record
