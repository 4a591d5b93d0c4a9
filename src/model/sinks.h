// SPDX-License-Identifier: MIT
#pragma once

#include "model/interval.h"
#include "model/loss.h"
#include "model/process_event.h"
#include "model/sched_event.h"
#include "model/tracked.h"

namespace offcpu::model {

// What a source of kernel events delivers, in time order over all CPUs. Losses come early: at the
// time after which events are missing, before any later event of any CPU; a loss whose end is not
// yet known has `to` = kStillLosing and is followed by the same loss with its end and count.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void OnSwitch(const Switch& event) = 0;
  virtual void OnSwitchIn(const SwitchIn& event) = 0;
  virtual void OnWakeup(const Wakeup& event) = 0;
  virtual void OnFork(const Fork& event) = 0;
  virtual void OnCommChange(const CommChange& event) = 0;
  virtual void OnExit(const Exit& event) = 0;
  virtual void OnMap(const Map& event) = 0;
  virtual void OnCgroupMove(const CgroupMove& event) = 0;
  virtual void OnLoss(const Loss& loss) = 0;

  // ---- Only from back ends that track in the kernel; of whoever reads others, to be ignored ----
  virtual void OnHandOver(const HandOver&) {}
  virtual void OnTrackedInterval(const TrackedInterval&) {}
  virtual void OnTrackedAccount(const TrackedAccount&) {}
  // Kept intervals that were lost on the way; they are in the threads' accounts as well.
  virtual void OnTrackedLoss(const Loss&) {}
};

// Ids of the two halves of a call chain; 0: absent.
struct StackIds {
  StackId kernel = 0;
  StackId user = 0;
};

// Keeps call chains for the tracker, which only holds ids.
class StackInterner {
 public:
  virtual ~StackInterner() = default;
  // `pid` is the process whose user addresses they are.
  virtual StackIds Intern(Pid pid, const CallChain& chain) = 0;
};

// Knows which threads are followed, for tids that no fork record introduced.
class ThreadDirectory {
 public:
  virtual ~ThreadDirectory() = default;

  struct Answer {
    enum { kFollow, kIgnore, kUnknown } kind = kUnknown;  // kUnknown: ask again at the next event
    ThreadRow row = 0;                                    // kFollow only: where its accounts go
  };
  // `pid` is the thread's process, or -1 when the event does not tell.
  virtual Answer LookUp(Tid tid, Pid pid) = 0;
};

// What the tracker delivers. Intervals of one thread come in time order.
class IntervalSink {
 public:
  virtual ~IntervalSink() = default;
  virtual void OnInterval(const Interval& interval) = 0;
};

}  // namespace offcpu::model
