// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "kernel-compat/switch_filter.h"
#include "model/ids.h"
#include "model/sinks.h"

// What a recording asks of a back end.
namespace offcpu::source {

// What call chains a switch-out carries.
struct ChainOptions {
  bool kernel = true;
  bool user = true;
  uint32_t max_stack = 0;  // frames in all; 0: the kernel's limit (kernel.perf_event_max_stack)

  bool any() const { return kernel || user; }
};

// Whom the recording follows. Back ends that see the whole machine deliver all and leave the
// choice to the reader; those that attach to tasks need it.
struct Target {
  enum class Kind {
    kEverything,  // also cgroups
    kProcesses,   // with all their threads
    kThreads,
    kCommand,  // a child of ours that waits for its exec
  };
  Kind kind = Kind::kEverything;
  std::vector<model::Pid> processes;  // kProcesses, kCommand
  std::vector<model::Tid> threads;    // kThreads
  bool follow_children = false;       // processes that followed ones start
};

// se.exec_start of a thread of ours, from /proc; nothing where the kernel does not show it.
using ReadExecStart = std::function<std::optional<Nanos>(model::Tid)>;

// Delivers a process's executable mappings as /proc shows them now, as Map events of that time.
using ReadMaps = std::function<void(model::Pid, Nanos, model::EventSink&)>;
// The threads of a process right now, ascending; empty when it has ended.
using ListThreads = std::function<std::vector<model::Tid>(model::Pid)>;

struct Request {
  Target target;
  ChainOptions chains;
  kernel_compat::WantedReasons chain_reasons{true, false, false};  // whose switch-outs carry chains
  size_t buffer_bytes = 8U << 20;  // of each CPU's ring; rounded up to a power of two
  bool wakeups = true;
  bool task_states = false;  // intervals are chosen by their task state
  bool cgroup_moves = false;

  // Which intervals will be kept, for back ends that can leave the others behind; they have to
  // count them. Those of `chain_reasons` that are longer and shorter than the limits, and in a
  // wanted state.
  std::optional<Nanos> min_off_cpu;
  std::optional<Nanos> max_off_cpu;
  std::function<bool(uint32_t task_state, bool preempted)> state_wanted;  // empty: all

  ReadExecStart read_exec_start;
  ReadMaps read_maps;  // for back ends without records of mappings; may be empty
  ListThreads list_threads;
};

}  // namespace offcpu::source
