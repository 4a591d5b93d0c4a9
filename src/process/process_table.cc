// SPDX-License-Identifier: MIT
#include "process/process_table.h"

#include <algorithm>
#include <utility>

namespace offcpu::process {

ProcessTable::ProcessTable(size_t max_rows) : max_rows_(max_rows), rows_(1) {}

void ProcessTable::AddProcess(model::Pid pid, const model::Comm& comm, bool kernel_thread) {
  auto [entry, is_new] = processes_.try_emplace(pid);
  if (!is_new) return;
  entry->second.name = static_cast<uint32_t>(names_.size());
  entry->second.kernel_thread = kernel_thread;
  entry->second.generation = ++generations_;
  names_.push_back(comm);
}

void ProcessTable::RenameProcess(model::Pid pid, const model::Comm& name) {
  if (const auto found = processes_.find(pid); found != processes_.end()) {
    names_[found->second.name] = name;
  }
}

void ProcessTable::NameThread(model::ThreadRow row, const model::Comm& comm) {
  if (rows_[row].comm[0] == '\0') rows_[row].comm = comm;
}

void ProcessTable::SetNamespaced(model::Pid pid) {
  if (const auto found = processes_.find(pid); found != processes_.end()) {
    found->second.namespaced = true;
  }
}

bool ProcessTable::IsNamespaced(model::Pid pid) const {
  const auto found = processes_.find(pid);
  return found != processes_.end() && found->second.namespaced;
}

std::vector<model::Pid> ProcessTable::Processes() const {
  std::vector<model::Pid> pids;
  for (const auto& [pid, process] : processes_) pids.push_back(pid);
  std::sort(pids.begin(), pids.end());
  return pids;
}

model::ThreadRow ProcessTable::AddThread(model::Pid pid, model::Tid tid, const model::Comm& comm) {
  const auto process = processes_.find(pid);
  if (process == processes_.end()) return 0;
  RemoveThread(pid, tid);  // an earlier life of the same id
  std::vector<model::Tid>& tids = process->second.threads;
  tids.insert(std::lower_bound(tids.begin(), tids.end(), tid), tid);

  model::ThreadRow row = static_cast<model::ThreadRow>(rows_.size());
  if (rows_.size() <= max_rows_) {
    rows_.push_back({pid, tid, comm, process->second.name, process->second.kernel_thread});
  } else {
    if (shared_row_ == 0) {
      shared_row_ = row;
      names_.push_back(model::MakeComm("[more threads]"));
      rows_.push_back({0, 0, names_.back(), static_cast<uint32_t>(names_.size() - 1), false});
    }
    row = shared_row_;
  }
  threads_[tid] = row;
  return row;
}

model::ThreadRow ProcessTable::FindThread(model::Tid tid) const {
  const auto found = threads_.find(tid);
  return found == threads_.end() ? 0 : found->second;
}

std::vector<model::Tid> ProcessTable::ThreadsOf(model::Pid pid) const {
  const auto found = processes_.find(pid);
  return found == processes_.end() ? std::vector<model::Tid>{} : found->second.threads;
}

void ProcessTable::RemoveThread(model::Pid pid, model::Tid tid) {
  threads_.erase(tid);
  const auto process = processes_.find(pid);
  if (process == processes_.end()) return;
  std::vector<model::Tid>& tids = process->second.threads;
  const auto position = std::lower_bound(tids.begin(), tids.end(), tid);
  if (position != tids.end() && *position == tid) tids.erase(position);
}

void ProcessTable::ApplyFork(const model::Fork& fork) {
  if (fork.pid == fork.parent_pid) return;
  const auto child = processes_.find(fork.pid);
  const auto parent = processes_.find(fork.parent_pid);
  if (child == processes_.end() || parent == processes_.end()) return;
  child->second.ranges = parent->second.ranges;
  child->second.namespaced = parent->second.namespaced;
}

void ProcessTable::ApplyCommChange(const model::CommChange& change) {
  if (const model::ThreadRow row = FindThread(change.tid); row != 0 && row != shared_row_) {
    rows_[row].comm = change.comm;
  }
  const auto process = processes_.find(change.pid);
  if (process == processes_.end()) return;
  if (change.tid == change.pid) names_[process->second.name] = change.comm;
  if (change.exec) {
    process->second.ranges.clear();
    process->second.generation = ++generations_;
  }
}

void ProcessTable::ApplyExit(const model::Exit& exit) {
  RemoveThread(exit.pid, exit.tid);
  const auto process = processes_.find(exit.pid);
  if (process == processes_.end() || !process->second.threads.empty()) return;
  processes_.erase(process);
  ++generations_;
}

model::ModuleId ProcessTable::ModuleFor(const model::Map& map) {
  // A file is the same module in all processes; memory without a file belongs to its process.
  std::string key(map.path);
  key += '\0';
  if (map.inode != 0) {
    key += std::to_string(map.device_major) + ':' + std::to_string(map.device_minor) + ':' +
           std::to_string(map.inode);
  } else if (map.build_id.empty()) {
    key += std::to_string(map.pid);
  }
  key += '\0';
  key += map.build_id;
  const auto [entry, is_new] =
      modules_.try_emplace(std::move(key), static_cast<model::ModuleId>(modules_.size() + 1));
  if (is_new) {
    all_modules_.push_back({map.pid, std::string(map.path), map.device_major, map.device_minor,
                            map.inode, map.start, map.start + map.length,
                            std::string(map.build_id)});
  }
  return entry->second;
}

void ProcessTable::ApplyMap(const model::Map& map) {
  const auto found = processes_.find(map.pid);
  if (found == processes_.end() || map.length == 0) return;
  Process& process = found->second;
  const uint64_t end = map.length > ~map.start ? ~uint64_t{0} : map.start + map.length;
  const MappedRange added{map.start, end, map.file_offset, ModuleFor(map)};

  std::vector<MappedRange>& ranges = process.ranges;
  auto first = std::lower_bound(ranges.begin(), ranges.end(), map.start,
                                [](const MappedRange& r, uint64_t at) { return r.end <= at; });
  std::vector<MappedRange> kept{added};
  auto last = first;
  for (; last != ranges.end() && last->start < end; ++last) {
    const bool same_code = last->module == added.module &&
                           last->start - last->file_offset == added.start - added.file_offset;
    if (!same_code) process.generation = ++generations_;
    if (last->start < added.start) {
      kept.insert(kept.begin(), {last->start, added.start, last->file_offset, last->module});
    }
    if (last->end > added.end) {
      kept.push_back(
          {added.end, last->end, last->file_offset + (added.end - last->start), last->module});
    }
  }
  first = ranges.erase(first, last);
  ranges.insert(first, kept.begin(), kept.end());
}

const model::Comm& ProcessTable::ProcessName(model::ThreadRow row) const {
  return names_[rows_[row].process_name];
}

uint64_t ProcessTable::Generation(model::Pid pid) const {
  const auto found = processes_.find(pid);
  return found == processes_.end() ? 0 : found->second.generation;
}

const MappedRange* ProcessTable::FindRange(model::Pid pid, uint64_t address) const {
  const auto found = processes_.find(pid);
  if (found == processes_.end()) return nullptr;
  const auto& ranges = found->second.ranges;
  const auto range = std::upper_bound(ranges.begin(), ranges.end(), address,
                                      [](uint64_t at, const MappedRange& r) { return at < r.end; });
  return range != ranges.end() && range->start <= address ? &*range : nullptr;
}

std::span<const MappedRange> ProcessTable::RangesOf(model::Pid pid) const {
  const auto found = processes_.find(pid);
  if (found == processes_.end()) return {};
  return found->second.ranges;
}

std::vector<ProcessTable::NewModule> ProcessTable::TakeNewModules() {
  std::vector<NewModule> fresh;
  for (; modules_taken_ < all_modules_.size(); ++modules_taken_) {
    fresh.push_back(
        {static_cast<model::ModuleId>(modules_taken_ + 1), all_modules_[modules_taken_]});
  }
  return fresh;
}

}  // namespace offcpu::process
