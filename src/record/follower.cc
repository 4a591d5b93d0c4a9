// SPDX-License-Identifier: MIT
#include "record/follower.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/parse.h"
#include "process/proc_reader.h"

namespace offcpu::record {
namespace {

namespace fs = std::filesystem;

constexpr model::Pid kNobody = -1;

// The processes in a cgroup directory and below it: cgroup.procs in both versions of cgroups.
std::vector<model::Pid> ProcessesOfCgroup(const std::string& directory) {
  std::vector<model::Pid> pids;
  const auto read = [&](const fs::path& folder) {
    const auto text = ReadSmallFile(folder / "cgroup.procs");
    if (!text) return;
    for (std::string_view line : Split(*text, '\n')) {
      model::Pid pid = 0;
      if (ParseNumber(line, &pid) && pid > 0) pids.push_back(pid);
    }
  };
  std::error_code error;
  read(directory);
  for (fs::recursive_directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    if (it->is_directory(error)) read(it->path());
  }
  std::sort(pids.begin(), pids.end());
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  return pids;
}

// The path of a cgroup directory within its hierarchy: what lies below the longest mount point of
// type cgroup or cgroup2 in /proc/self/mounts.
std::string PathInHierarchy(const std::string& directory) {
  std::error_code error;
  const std::string whole = fs::weakly_canonical(directory, error).string();
  const auto mounts = ReadSmallFile("/proc/self/mounts");
  size_t best = 0;
  if (mounts) {
    for (std::string_view line : Split(*mounts, '\n')) {
      const auto fields = Split(line, ' ');
      if (fields.size() < 3 || !fields[2].starts_with("cgroup")) continue;
      const std::string_view point = fields[1];
      const bool below =
          whole.starts_with(point) && (whole.size() == point.size() || whole[point.size()] == '/');
      if (below) best = std::max(best, point.size());
    }
  }
  const std::string path = whole.substr(best);
  return path.empty() ? "/" : path;
}

}  // namespace

Follower::Follower(const Target& target, process::ProcessTable& processes, bool live)
    : target_(target), processes_(processes), self_(live ? ::getpid() : kNobody) {
  if (target_.kind == Target::Kind::kCgroup) cgroup_path_ = PathInHierarchy(target_.cgroup);
}

Result<void> Follower::Check() const {
  if (target_.kind == Target::Kind::kProcesses) {
    for (model::Pid pid : target_.pids) {
      if (pid == self_)
        return UsageError("--pid " + std::to_string(pid) + ": offcpu does not record itself");
      if (process::ProcessOfThread(pid) == pid) continue;
      if (const auto process = process::ProcessOfThread(pid)) {
        return Failed("--pid " + std::to_string(pid) + ": this is a thread of process " +
                          std::to_string(*process),
                      "use --tid " + std::to_string(pid) + " or --pid " + std::to_string(*process));
      }
      return Failed("--pid " + std::to_string(pid) + ": no such process",
                    "ids are those of this pid namespace; ps -e lists them");
    }
  }
  if (target_.kind == Target::Kind::kThreads) {
    for (model::Tid tid : target_.tids) {
      if (!process::ProcessOfThread(tid)) {
        return Failed("--tid " + std::to_string(tid) + ": no such thread",
                      "ids are those of this pid namespace; ps -eL lists them");
      }
    }
  }
  if (target_.kind == Target::Kind::kCgroup &&
      ::faccessat(AT_FDCWD, (target_.cgroup + "/cgroup.procs").c_str(), R_OK, AT_EACCESS) != 0) {
    return Error(SystemError("--cgroup " + target_.cgroup + ": read cgroup.procs"))
        .WithHint("name a directory below /sys/fs/cgroup");
  }
  return {};
}

bool Follower::WantsThread(model::Tid tid) const {
  return target_.kind != Target::Kind::kThreads ||
         std::find(target_.tids.begin(), target_.tids.end(), tid) != target_.tids.end();
}

std::vector<model::Pid> Follower::WantedProcesses() const {
  switch (target_.kind) {
    case Target::Kind::kProcesses: return target_.pids;
    case Target::Kind::kAll: return process::ListProcesses();
    case Target::Kind::kCgroup: return ProcessesOfCgroup(target_.cgroup);
    case Target::Kind::kCommand: return {};  // from its exec on
    case Target::Kind::kThreads: break;
  }
  std::vector<model::Pid> pids;
  for (model::Tid tid : target_.tids) {
    if (const auto pid = process::ProcessOfThread(tid)) pids.push_back(*pid);
  }
  return pids;
}

void Follower::Add(model::Pid pid, const model::Comm& comm, bool kernel_thread) {
  if (pid == self_ || processes_.HasProcess(pid)) return;
  processes_.AddProcess(pid, process::NameBehindLoader(pid, comm).value_or(comm), kernel_thread);
  if (kernel_thread) return;
  if (process::InnerTid(pid, pid) != pid) processes_.SetNamespaced(pid);
  const process::Mappings mappings = process::ReadMappings(pid);
  for (const model::Map& map : mappings.maps) processes_.ApplyMap(map);
}

void Follower::AddExistingProcesses() {
  for (model::Pid pid : WantedProcesses()) {
    const auto stat = process::ReadThreadStat(pid, pid);
    if (stat) Add(pid, stat->comm, stat->kernel_thread);
  }
}

std::vector<Follower::Found> Follower::ExistingThreads() {
  AddExistingProcesses();  // those that came since
  std::vector<Found> threads;
  for (model::Pid pid : WantedProcesses()) {
    if (!processes_.HasProcess(pid)) continue;
    for (model::Tid tid : process::ListThreads(pid)) {
      if (WantsThread(tid)) threads.push_back({pid, tid});
    }
  }
  return threads;
}

bool Follower::FollowsFork(const model::Fork& fork) {
  if (fork.pid == self_) return false;
  const bool parent_followed = processes_.FindThread(fork.parent_tid) != 0;
  if (fork.pid == fork.parent_pid) {
    return processes_.HasProcess(fork.pid) && target_.kind != Target::Kind::kThreads;
  }
  const bool follows =
      target_.kind == Target::Kind::kAll ||
      (parent_followed && (target_.follow_children || target_.kind == Target::Kind::kCgroup));
  if (!follows) return false;
  const model::ThreadRow parent = processes_.FindThread(fork.parent_tid);
  const bool has_parent = parent != 0;
  // kthreadd (pid 2) is the parent of all kernel threads.
  constexpr model::Pid kKthreadd = 2;
  processes_.AddProcess(fork.pid, has_parent ? processes_.row(parent).comm : model::Comm{},
                        fork.parent_pid == kKthreadd);
  return true;
}

bool Follower::InCgroup(std::string_view path) const {
  if (target_.kind != Target::Kind::kCgroup) return false;
  if (cgroup_path_ == "/") return true;
  return path.starts_with(cgroup_path_) &&
         (path.size() == cgroup_path_.size() || path[cgroup_path_.size()] == '/');
}

// A thread that no fork record introduced: one of a process that is followed, or, with everything
// being followed, of any. Happens where records were lost.
Follower::Answer Follower::LookUp(model::Tid tid, model::Pid pid) {
  if (pid < 0) return {Answer::kUnknown, 0};
  if (pid == self_) return {Answer::kIgnore, 0};
  if (target_.kind == Target::Kind::kAll && !processes_.HasProcess(pid)) {
    processes_.AddProcess(pid, model::Comm{}, false);
  }
  if (!processes_.HasProcess(pid) || !WantsThread(tid)) {
    // A command becomes a target only at its exec, a process by moving into the cgroup.
    return {Answer::kIgnore, 0};
  }
  return {Answer::kFollow, processes_.AddThread(pid, tid, model::Comm{})};
}

}  // namespace offcpu::record
