// SPDX-License-Identifier: MIT
#include "record/symbol_worker.h"

#include <pthread.h>
#include <sched.h>

#include <utility>

#include "process/proc_reader.h"
#include "process/stack_table.h"

namespace offcpu::record {

using model::SymbolFrame;

SymbolWorker::SymbolWorker(symbolize::Options options)
    : live_(options.live),
      symbolizer_(std::move(options)),
      named_stacks_{{{model::FrameKind::kMarker, false, "[asleep before the start]", ""}}},
      thread_([this] { Run(); }) {}

SymbolWorker::~SymbolWorker() { Finish(); }

void SymbolWorker::Give(Batch batch) {
  if (!batch.empty()) not_handed_over_.push_back(std::move(batch));
  if (not_handed_over_.empty()) return;
  // The worker may be off the CPU for long while it holds the lock.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  for (Batch& each : not_handed_over_) queue_.push_back(std::move(each));
  not_handed_over_.clear();
  filled_.notify_one();
}

void SymbolWorker::Finish() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    for (Batch& each : not_handed_over_) queue_.push_back(std::move(each));
    finishing_ = true;
    filled_.notify_one();
  }
  // The result is being waited for now. Allowed since Linux 2.6.39; where it is refused it takes
  // longer.
  const sched_param param{};
  ::pthread_setschedparam(thread_.native_handle(), SCHED_OTHER, &param);
  thread_.join();
}

void SymbolWorker::Run() {
  const sched_param param{};
  if (live_) ::sched_setscheduler(0, SCHED_IDLE, &param);
  ::pthread_setname_np(::pthread_self(), "symbolize");
  std::unique_lock lock(mutex_);
  for (;;) {
    filled_.wait(lock, [this] { return finishing_ || !queue_.empty(); });
    std::vector<Batch> batches = std::exchange(queue_, {});
    if (batches.empty()) return;  // finishing, and nothing is left
    lock.unlock();
    for (Batch& batch : batches) Work(std::move(batch));
    lock.lock();
  }
}

void SymbolWorker::Work(Batch batch) {
  // In this order: sleepers may wake, processes may end, stacks stay.
  for (const Newcomer& newcomer : batch.newcomers) LookAt(newcomer);
  for (const auto& added : batch.modules) symbolizer_.AddModule(added.id, added.module);
  for (model::RawStack& stack : batch.stacks) {
    symbolizer_.Prepare(stack);
    stacks_.emplace(stack.id, std::move(stack));
  }
}

void SymbolWorker::LookAt(const Newcomer& newcomer) {
  NewcomerInfo info;
  info.inner_pid = process::InnerTid(newcomer.pid, newcomer.pid);
  info.inner_tid = process::InnerTid(newcomer.pid, newcomer.tid);
  if (newcomer.asleep) {
    info.exec_start = process::ReadExecStart(newcomer.pid, newcomer.tid);
    info.kernel_stack = AddNamedStack(process::ReadKernelStack(newcomer.pid, newcomer.tid));
    info.read_time = MonotonicNow();
  }
  infos_[newcomer.row] = info;
}

model::StackId SymbolWorker::AddNamedStack(const std::vector<std::string>& functions) {
  if (functions.empty()) return 0;
  std::vector<SymbolFrame> frames;
  for (auto name = functions.rbegin(); name != functions.rend(); ++name) {
    frames.push_back({model::FrameKind::kKernel, false, *name, "[kernel]"});
  }
  named_stacks_.push_back(std::move(frames));
  return kNamedStacks + static_cast<model::StackId>(named_stacks_.size() - 1);
}

std::vector<SymbolFrame> SymbolWorker::Names(model::StackId id) {
  if (id >= kNamedStacks) return named_stacks_.at(id - kNamedStacks);
  if (id == process::StackTable::kOverflowStack) {
    return {{model::FrameKind::kMarker, false, "[too many stacks]", ""}};
  }
  const auto found = stacks_.find(id);
  return found == stacks_.end() ? std::vector<SymbolFrame>{} : symbolizer_.Resolve(found->second);
}

const NewcomerInfo* SymbolWorker::InfoOf(model::ThreadRow row) const {
  const auto found = infos_.find(row);
  return found == infos_.end() ? nullptr : &found->second;
}

}  // namespace offcpu::record
