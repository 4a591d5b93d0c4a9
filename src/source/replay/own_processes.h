// SPDX-License-Identifier: MIT
#pragma once

#include <unordered_set>

#include "model/sinks.h"

namespace offcpu::source::replay {

// Where a recording does not tell which process a thread belongs to, the thread stands for a
// process of its own. A process is named like its first thread, as nothing else names it.
// Everything is handed on to `sink`.
class OwnProcesses : public model::EventSink {
 public:
  void set_sink(model::EventSink* sink) { sink_ = sink; }
  // Whether there were threads without a process.
  bool any() const { return any_; }

  void OnSwitch(const model::Switch& event) override {
    model::Switch completed = event;
    if (event.prev_pid < 0 && event.prev_tid != 0) {
      completed.prev_pid = event.prev_tid;
      any_ = true;
    }
    const bool leads = completed.prev_pid == event.prev_tid && event.prev_tid != 0;
    if (leads && named_.insert(event.prev_tid).second) {
      model::CommChange change;
      change.time = event.time;
      change.cpu = event.cpu;
      change.pid = change.tid = event.prev_tid;
      change.comm = event.prev_comm;
      sink_->OnCommChange(change);
    }
    sink_->OnSwitch(completed);
  }
  void OnSwitchIn(const model::SwitchIn& event) override { sink_->OnSwitchIn(event); }
  void OnWakeup(const model::Wakeup& event) override { sink_->OnWakeup(event); }
  void OnFork(const model::Fork& event) override { sink_->OnFork(event); }
  void OnCommChange(const model::CommChange& event) override { sink_->OnCommChange(event); }
  void OnExit(const model::Exit& event) override { sink_->OnExit(event); }
  void OnMap(const model::Map& event) override { sink_->OnMap(event); }
  void OnCgroupMove(const model::CgroupMove& event) override { sink_->OnCgroupMove(event); }
  void OnLoss(const model::Loss& loss) override { sink_->OnLoss(loss); }

 private:
  model::EventSink* sink_ = nullptr;
  bool any_ = false;
  std::unordered_set<model::Tid> named_;
};

}  // namespace offcpu::source::replay
