// SPDX-License-Identifier: MIT
#include "record/source_request.h"

#include <unistd.h>

#include "process/proc_reader.h"

namespace offcpu::record {
namespace {

source::Target SourceTarget(const Target& target) {
  using Kind = source::Target::Kind;
  source::Target result;
  switch (target.kind) {
    case Target::Kind::kProcesses: result.kind = Kind::kProcesses; break;
    case Target::Kind::kThreads: result.kind = Kind::kThreads; break;
    case Target::Kind::kCommand: result.kind = Kind::kCommand; break;
    case Target::Kind::kAll:
    case Target::Kind::kCgroup: result.kind = Kind::kEverything; break;
  }
  result.processes = target.pids;
  result.threads = target.tids;
  result.follow_children = target.follow_children;
  return result;
}

}  // namespace

source::Request RequestOf(const Options& options) {
  source::Request request;
  request.target = SourceTarget(options.target);
  request.chains = {options.kernel_stacks, options.user_stacks, options.max_stack};
  request.chain_reasons = {options.selection.blocked, options.selection.runnable,
                           options.selection.preempted};
  request.buffer_bytes = options.buffer_bytes;
  request.wakeups = options.time_split;
  request.task_states = !options.selection.states.matches_all();
  request.cgroup_moves = options.target.kind == Target::Kind::kCgroup;
  request.min_off_cpu = options.selection.min_off_cpu;
  request.max_off_cpu = options.selection.max_off_cpu;
  request.state_wanted = [states = options.selection.states](uint32_t state, bool preempted) {
    return states.Matches(state, preempted);
  };
  request.read_exec_start = [](model::Tid tid) { return process::ReadExecStart(::getpid(), tid); };
  request.read_maps = [](model::Pid pid, Nanos time, model::EventSink& sink) {
    const process::Mappings mappings = process::ReadMappings(pid);
    for (model::Map map : mappings.maps) {
      map.time = time;
      sink.OnMap(map);
    }
  };
  request.list_threads = process::ListThreads;
  return request;
}

}  // namespace offcpu::record
