// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "model/ids.h"
#include "model/stack.h"
#include "process/process_table.h"
#include "symbolize/symbolizer.h"

namespace offcpu::record {

// A thread to be looked at in /proc soon.
struct Newcomer {
  model::Pid pid = 0;
  model::Tid tid = 0;
  model::ThreadRow row = 0;
  bool asleep = false;  // it was when the recording began: where, and since when?
};

// What /proc said of it. All but the ids hold for its left-open interval if that ended after
// `read_time`.
struct NewcomerInfo {
  model::Pid inner_pid = 0;  // in the thread's own pid namespace
  model::Tid inner_tid = 0;
  Nanos read_time = 0;
  std::optional<Nanos> exec_start;  // on the rq clock of its CPU
  model::StackId kernel_stack = 0;  // its functions, named already; 0: not readable
};

// The symbolize thread: names stacks and looks into /proc while events flow, at SCHED_IDLE so that
// it takes no time from anyone, so that nothing is left to do at the stop and short-lived processes
// still have names. The drain thread hands over whole batches and never waits for it.
class SymbolWorker {
 public:
  // Of a recording that is imported, names are all that is waited for: at ordinary priority.
  explicit SymbolWorker(symbolize::Options options);
  ~SymbolWorker();

  struct Batch {
    std::vector<process::ProcessTable::NewModule> modules;
    std::vector<model::RawStack> stacks;
    std::vector<Newcomer> newcomers;

    bool empty() const { return modules.empty() && stacks.empty() && newcomers.empty(); }
  };
  // Never blocks: what can't be handed over now goes with the next call.
  void Give(Batch batch);

  // Works off what is left, at ordinary priority, and ends the thread. The rest is for after that.
  void Finish();

  // Names of a stack given before, root first.
  std::vector<model::SymbolFrame> Names(model::StackId id);
  const NewcomerInfo* InfoOf(model::ThreadRow row) const;
  // The marker for a sleeper whose kernel stack could not be read.
  static constexpr model::StackId kAsleepBefore = 0x80000000;
  std::vector<std::string> Warnings() const { return symbolizer_.Warnings(); }

 private:
  void Run();
  void Work(Batch batch);
  void LookAt(const Newcomer& newcomer);
  model::StackId AddNamedStack(const std::vector<std::string>& functions);

  // Ids of stacks that came with names; far above those of the drain thread's stack table.
  static constexpr model::StackId kNamedStacks = kAsleepBefore;

  const bool live_;

  // Owned by the thread until Finish().
  symbolize::Symbolizer symbolizer_;
  std::unordered_map<model::StackId, model::RawStack> stacks_;
  std::vector<std::vector<model::SymbolFrame>> named_stacks_;
  std::unordered_map<model::ThreadRow, NewcomerInfo> infos_;

  std::vector<Batch> not_handed_over_;  // the giving thread's

  std::mutex mutex_;  // guards queue_ and finishing_
  std::condition_variable filled_;
  std::vector<Batch> queue_;
  bool finishing_ = false;
  std::thread thread_;
};

}  // namespace offcpu::record
