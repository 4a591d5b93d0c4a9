// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "model/ids.h"

namespace offcpu::source::replay {

// CPUs for switches that were printed without theirs: who leaves is on the CPU that it was switched
// to. Idle CPUs can't be told from each other, and need not be: nothing is known of any of them but
// who comes next.
class UnprintedCpus {
 public:
  explicit UnprintedCpus(model::Cpu most) : most_(most) {}

  // Where the switch happened. There are never more than `most`: one in use is taken then.
  model::Cpu Take(model::Tid prev, model::Tid next) {
    const model::Cpu cpu = Leave(prev);
    if (next == 0) {
      idle_.push_back(cpu);
      return cpu;
    }
    const auto [place, is_new] = running_.try_emplace(next, cpu);
    // It left its CPU unseen.
    if (!is_new) left_.push_back(std::exchange(place->second, cpu));
    return cpu;
  }

  // Where a thread runs; 0: not known.
  model::Cpu Of(model::Tid tid) const {
    const auto found = running_.find(tid);
    return found == running_.end() ? 0 : found->second;
  }

 private:
  model::Cpu Leave(model::Tid prev) {
    if (prev == 0 && !idle_.empty()) return TakeBack(&idle_);
    if (const auto found = running_.find(prev); found != running_.end()) {
      const model::Cpu cpu = found->second;
      running_.erase(found);
      return cpu;
    }
    if (!left_.empty()) return TakeBack(&left_);
    if (count_ < most_) return count_++;
    if (!idle_.empty()) return TakeBack(&idle_);
    const auto any = running_.begin();
    const model::Cpu cpu = any->second;
    running_.erase(any);
    return cpu;
  }
  static model::Cpu TakeBack(std::vector<model::Cpu>* cpus) {
    const model::Cpu cpu = cpus->back();
    cpus->pop_back();
    return cpu;
  }

  const model::Cpu most_;
  model::Cpu count_ = 0;
  std::map<model::Tid, model::Cpu> running_;
  std::vector<model::Cpu> idle_;
  std::vector<model::Cpu> left_;  // by a thread that runs elsewhere now
};

}  // namespace offcpu::source::replay
