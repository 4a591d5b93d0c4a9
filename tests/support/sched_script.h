// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <vector>

#include "model/sinks.h"
#include "sched/tracker.h"

namespace offcpu::test {

// Drives a tracker with a drawn timeline and keeps what comes out.
class SchedScript : public model::IntervalSink,
                    public model::StackInterner,
                    public model::ThreadDirectory {
 public:
  static constexpr model::Tid kIdle = 0;

  explicit SchedScript(bool wakeups = true) : tracker(*this, *this, *this, wakeups) {
    tracker.Begin(0);
  }

  // ---- what happens; times in the order of the calls ----
  SchedScript& At(Nanos time) {
    time_ = time;
    return *this;
  }
  SchedScript& OnCpu(model::Cpu cpu) {
    cpu_ = cpu;
    return *this;
  }
  // `prev` leaves in `state` (TaskState bits), `next` comes.
  SchedScript& Switch(model::Tid prev, uint32_t state, model::Tid next, bool preempted = false) {
    model::Switch event;
    event.time = time_;
    event.cpu = cpu_;
    event.prev_tid = prev;
    event.prev_pid = prev;
    event.next_tid = next;
    event.prev_state = state;
    event.preempted = preempted;
    event.prev_comm = comms.contains(prev) ? comms[prev] : model::MakeComm("thread");
    tracker.OnSwitch(event);
    return *this;
  }
  SchedScript& Sleeps(model::Tid prev, model::Tid next = kIdle) {
    return Switch(prev, model::kTaskInterruptible, next);
  }
  SchedScript& Runs(model::Tid next, model::Tid prev = kIdle) {
    return Switch(prev, model::kTaskRunning, next);
  }
  SchedScript& SwitchRecordIn(model::Tid tid) {
    tracker.OnSwitchIn({time_, cpu_, tid});
    return *this;
  }
  SchedScript& Wakes(model::Tid tid) {
    tracker.OnWakeup({time_, cpu_, tid});
    return *this;
  }
  SchedScript& Loses(Nanos until, uint64_t count = 1) {
    tracker.OnLoss({cpu_, time_, until, count});
    return *this;
  }
  SchedScript& IsBorn(model::Tid tid) {
    tracker.OnBirth(tid, RowOf(tid, /*fresh=*/true), time_);
    return *this;
  }
  SchedScript& Ends() {
    tracker.Finish(time_);
    return *this;
  }

  // ---- what came out ----
  const sched::Account& AccountOf(model::Tid tid) { return tracker.accounts()[rows_[tid]]; }
  std::vector<Nanos> Durations(model::Tid tid) const {
    std::vector<Nanos> durations;
    for (const model::Interval& interval : intervals) {
      if (row_tids_.at(interval.thread) == tid) durations.push_back(interval.duration());
    }
    return durations;
  }
  model::ThreadRow RowOf(model::Tid tid, bool fresh = false) {
    if (fresh || !rows_.contains(tid)) {
      rows_[tid] = ++last_row_;
      row_tids_[last_row_] = tid;
    }
    return rows_[tid];
  }
  model::Tid TidOf(model::ThreadRow row) const { return row_tids_.at(row); }

  // Law 1 for every row.
  static Nanos Sum(const sched::Account& a) {
    return a.on_cpu + a.blocked.sleeping + a.blocked.runqueue + a.blocked.unsplit + a.runnable +
           a.preempted + a.newborn + a.unknown;
  }

  // ---- the tracker's surroundings ----
  void OnInterval(const model::Interval& interval) override { intervals.push_back(interval); }
  model::StackIds Intern(model::Pid, const model::CallChain&) override { return {next_stack++, 0}; }
  Answer LookUp(model::Tid tid, model::Pid) override {
    if (ignored.contains(tid)) return {Answer::kIgnore, 0};
    return {Answer::kFollow, RowOf(tid, /*fresh=*/true)};
  }

  std::vector<model::Interval> intervals;
  std::map<model::Tid, model::Comm> comms;
  std::map<model::Tid, bool> ignored;
  model::StackId next_stack = 1;
  sched::Tracker tracker;

 private:
  Nanos time_ = 0;
  model::Cpu cpu_ = 0;
  model::ThreadRow last_row_ = 0;
  std::map<model::Tid, model::ThreadRow> rows_;
  std::map<model::ThreadRow, model::Tid> row_tids_;
};

}  // namespace offcpu::test
