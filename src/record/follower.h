// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "base/result.h"
#include "model/process_event.h"
#include "model/sinks.h"
#include "process/process_table.h"
#include "record/options.h"

namespace offcpu::record {

// Decides who is followed, and keeps the process table of exactly those. The recorder itself never
// is.
class Follower : public model::ThreadDirectory {
 public:
  // `live` false: threads are known from events only, and ids may be those of another machine.
  Follower(const Target& target, process::ProcessTable& processes, bool live = true);

  // Checks that what the target names exists. kFailed names the pid, thread or directory.
  Result<void> Check() const;

  // Reads from /proc: the processes to follow with their mappings. Mapping records must be enabled
  // before, so that no mapping falls between.
  void AddExistingProcesses();

  // A thread of a followed process as /proc shows it now; new processes are added on the way.
  struct Found {
    model::Pid pid = 0;
    model::Tid tid = 0;
  };
  std::vector<Found> ExistingThreads();

  // Whether the new thread is followed; a new process is added to the table.
  bool FollowsFork(const model::Fork& fork);
  // A process is followed from now on (an exec of the command, a move into the cgroup).
  void Add(model::Pid pid, const model::Comm& comm, bool kernel_thread);
  // Whether `path` lies in the cgroup that is recorded.
  bool InCgroup(std::string_view path) const;

  // The processes the target names right now, ascending.
  std::vector<model::Pid> WantedProcesses() const;

  Answer LookUp(model::Tid tid, model::Pid pid) override;

 private:
  bool WantsThread(model::Tid tid) const;

  const Target target_;
  process::ProcessTable& processes_;
  const model::Pid self_;
  std::string cgroup_path_;  // within its hierarchy, as cgroup_attach_task writes it
};

}  // namespace offcpu::record
