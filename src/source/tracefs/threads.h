// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "model/ids.h"

namespace offcpu::source::tracefs {

// Which process each thread belongs to: trace events name threads only.
class ThreadTable {
 public:
  // Takes in all threads that exist now.
  void ReadProc(const std::string& proc = "/proc");

  void Set(model::Tid tid, model::Pid pid) { processes_[tid] = pid; }
  void Erase(model::Tid tid) { processes_.erase(tid); }
  // -1: not known.
  model::Pid ProcessOf(model::Tid tid) const {
    const auto found = processes_.find(tid);
    return found == processes_.end() ? -1 : found->second;
  }

 private:
  std::unordered_map<model::Tid, model::Pid> processes_;
};

}  // namespace offcpu::source::tracefs
