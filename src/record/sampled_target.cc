// SPDX-License-Identifier: MIT
#include "record/sampled_target.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "process/proc_reader.h"

namespace offcpu::record {
namespace {

bool IsOwn(model::Pid pid) {
  if (::geteuid() == 0) return true;
  struct stat status {};
  const std::string folder = "/proc/" + std::to_string(pid);
  return ::stat(folder.c_str(), &status) == 0 && status.st_uid == ::geteuid();
}

}  // namespace

SampledTarget::SampledTarget(const Target& target)
    : target_(target), follower_(target, no_processes_) {}

// Children whose parent ended between two scans are not found.
void SampledTarget::FindChildren() {
  const std::vector<model::Pid> all = process::ListProcesses();
  std::unordered_set<model::Pid> family(target_.pids.begin(), target_.pids.end());
  std::unordered_set<model::Pid> strangers;
  for (const model::Pid pid : all) {
    if (children_.contains(pid)) family.insert(pid);
    if (strangers_.contains(pid)) strangers.insert(pid);
  }
  strangers_ = std::move(strangers);                       // without those that have ended
  std::vector<std::pair<model::Pid, model::Pid>> unknown;  // process and its parent
  for (const model::Pid pid : all) {
    if (family.contains(pid) || strangers_.contains(pid)) continue;
    const auto stat = process::ReadThreadStat(pid, pid);
    if (stat) unknown.emplace_back(pid, stat->parent);
  }
  for (bool grew = true; grew;) {
    grew = false;
    for (const auto& [pid, parent] : unknown) {
      if (family.contains(parent) && family.insert(pid).second) grew = true;
    }
  }
  for (const auto& [pid, parent] : unknown) {
    if (!family.contains(pid)) strangers_.insert(pid);
  }
  children_ = std::move(family);
}

std::vector<model::Pid> SampledTarget::Processes() {
  using Kind = Target::Kind;
  std::vector<model::Pid> pids =
      target_.kind == Kind::kCommand ? target_.pids : follower_.WantedProcesses();
  const bool families = target_.kind == Kind::kCommand || target_.kind == Kind::kProcesses;
  if (families && target_.follow_children) {
    FindChildren();
    pids.assign(children_.begin(), children_.end());
  }
  const model::Pid self = ::getpid();
  std::erase_if(pids, [&](model::Pid pid) {
    return pid == self || (target_.kind == Kind::kAll && !IsOwn(pid));
  });
  std::sort(pids.begin(), pids.end());
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  return pids;
}

std::vector<SampledTarget::Thread> SampledTarget::Scan() {
  std::vector<Thread> found;
  const std::vector<model::Pid> pids = Processes();
  std::unordered_set<model::Tid> threads;
  for (const model::Pid pid : pids) {
    // A process may move into a cgroup with threads that are old.
    const bool seen_born =
        scanned_ && (target_.kind != Target::Kind::kCgroup || processes_.contains(pid));
    for (const model::Tid tid : process::ListThreads(pid)) {
      threads.insert(tid);
      const bool wanted =
          target_.kind != Target::Kind::kThreads ||
          std::find(target_.tids.begin(), target_.tids.end(), tid) != target_.tids.end();
      if (wanted) found.push_back({pid, tid, seen_born && !threads_.contains(tid)});
    }
  }
  processes_ = {pids.begin(), pids.end()};
  threads_ = std::move(threads);
  scanned_ = true;
  return found;
}

}  // namespace offcpu::record
