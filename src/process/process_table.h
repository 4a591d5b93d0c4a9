// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/ids.h"
#include "model/process_event.h"
#include "model/sched_event.h"
#include "model/stack.h"

namespace offcpu::process {

// A part of a process's address space that holds code.
struct MappedRange {
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t file_offset = 0;
  model::ModuleId module = 0;
};

// A row of accounts: one followed thread, or all that came when there were too many.
struct Row {
  model::Pid pid = 0;
  model::Tid tid = 0;  // 0: the shared row
  model::Comm comm{};
  uint32_t process_name = 0;  // position in ProcessTable's names
  bool kernel_thread = false;
};

// Who the followed threads were and what their processes had mapped, as of the last event applied:
// apply events in time order. Foreign processes are not kept. Threads and mappings of ended
// processes are let go; rows and names stay, up to `max_rows`, after which new threads share one
// row.
class ProcessTable {
 public:
  explicit ProcessTable(size_t max_rows = 100'000);

  // A process that is followed from now on; a known one keeps its threads.
  void AddProcess(model::Pid pid, const model::Comm& comm, bool kernel_thread);
  bool HasProcess(model::Pid pid) const { return processes_.contains(pid); }
  // The process is better known by another name than its leader's.
  void RenameProcess(model::Pid pid, const model::Comm& name);
  // The process lives in another pid namespace than the recorder; its children inherit that.
  void SetNamespaced(model::Pid pid);
  bool IsNamespaced(model::Pid pid) const;

  std::vector<model::Pid> Processes() const;  // ascending
  bool empty() const { return processes_.empty(); }

  // A new row for a thread of a followed process; the shared row when there are too many.
  model::ThreadRow AddThread(model::Pid pid, model::Tid tid, const model::Comm& comm);
  // The living thread's row; 0 when it is not followed.
  model::ThreadRow FindThread(model::Tid tid) const;
  // The followed threads of a process, ascending.
  std::vector<model::Tid> ThreadsOf(model::Pid pid) const;

  void ApplyFork(const model::Fork& fork);  // a new process inherits its parent's mappings
  // On exec the mappings go, and the process has the new name.
  void ApplyCommChange(const model::CommChange& change);
  void ApplyExit(const model::Exit& exit);
  // A name for a row that has none yet.
  void NameThread(model::ThreadRow row, const model::Comm& comm);
  void ApplyMap(const model::Map& map);

  // Names the row's process had last; `row` as returned by AddThread.
  const model::Comm& ProcessName(model::ThreadRow row) const;
  const Row& row(model::ThreadRow row) const { return rows_[row]; }
  // Element 0 is a placeholder.
  const std::vector<Row>& rows() const { return rows_; }

  // A new number when an address of the process may mean other code than before: at exec, when a
  // mapping replaces another, and when the pid is another process's. 0: not followed.
  uint64_t Generation(model::Pid pid) const;
  // While it stays the same, so do the generations of all processes.
  uint64_t generations() const { return generations_; }
  // Where `address` points; nullptr outside all known mappings.
  const MappedRange* FindRange(model::Pid pid, uint64_t address) const;

  // Modules first seen since the last call; their ids are consecutive.
  struct NewModule {
    model::ModuleId id = 0;
    model::Module module;
  };
  std::vector<NewModule> TakeNewModules();
  // `id` as found in a MappedRange.
  const model::Module& module(model::ModuleId id) const { return all_modules_[id - 1]; }
  // Mappings of a process by start; empty when it is not followed.
  std::span<const MappedRange> RangesOf(model::Pid pid) const;

 private:
  struct Process {
    uint32_t name = 0;
    uint64_t generation = 0;
    bool kernel_thread = false;
    bool namespaced = false;
    std::vector<MappedRange> ranges;  // by start, not overlapping
    std::vector<model::Tid> threads;
  };

  model::ModuleId ModuleFor(const model::Map& map);
  void RemoveThread(model::Pid pid, model::Tid tid);

  const size_t max_rows_;
  std::unordered_map<model::Pid, Process> processes_;
  uint64_t generations_ = 0;  // given out so far
  std::unordered_map<model::Tid, model::ThreadRow> threads_;
  std::unordered_map<std::string, model::ModuleId> modules_;
  std::deque<model::Module> all_modules_;
  size_t modules_taken_ = 0;  // by TakeNewModules
  std::vector<Row> rows_;
  std::vector<model::Comm> names_;
  model::ThreadRow shared_row_ = 0;
};

}  // namespace offcpu::process
