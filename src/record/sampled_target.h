// SPDX-License-Identifier: MIT
#pragma once

#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "model/ids.h"
#include "process/process_table.h"
#include "record/follower.h"
#include "record/options.h"

namespace offcpu::record {

// Finds out from /proc, again and again, which threads a target has. Of all processes those of
// other users are left out, unless root asks.
class SampledTarget {
 public:
  explicit SampledTarget(const Target& target);

  struct Thread {
    model::Pid pid = 0;
    model::Tid tid = 0;
    bool newborn = false;  // it did not exist at the scan before
  };
  // The threads right now; processes ascending, then threads.
  std::vector<Thread> Scan();

 private:
  std::vector<model::Pid> Processes();
  void FindChildren();

  const Target target_;
  process::ProcessTable no_processes_;  // the follower's; only its eyes are used
  Follower follower_;
  std::unordered_set<model::Pid> children_;  // found to descend from the target
  std::unordered_set<model::Pid> strangers_;
  std::unordered_set<model::Pid> processes_;  // at the scan before
  std::unordered_set<model::Tid> threads_;    // same
  bool scanned_ = false;
};

}  // namespace offcpu::record
