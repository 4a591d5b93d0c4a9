// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "model/account.h"
#include "model/interval.h"
#include "model/loss.h"
#include "model/sched_event.h"
#include "model/sinks.h"
#include "model/tracked.h"
#include "sched/tid_map.h"

namespace offcpu::sched {

using model::Account;

// What went wrong on the way, counted (law 4).
struct TrackerCounters {
  uint64_t switches = 0;         // sched_switch events, all threads
  uint64_t hidden_switches = 0;  // breaks of a CPU's continuity without a reported loss
  uint64_t lost_intervals = 0;   // dropped because a loss lies in them
  Nanos lost_time = 0;
  uint64_t hidden_intervals = 0;  // dropped because their end was hidden
  Nanos hidden_time = 0;
  uint64_t backward_times = 0;   // an event older than the state it ends
  uint64_t outside_wakeups = 0;  // wake-ups outside any open blocked interval
};

// A thread that existed when the recording began, as /proc showed it at `read_time`.
struct Seed {
  model::Tid tid = 0;
  model::ThreadRow row = 0;
  uint32_t task_state = 0;  // model::TaskState; kTaskRunning may also be waiting for a CPU
  model::Cpu cpu = -1;      // where it ran last
  Nanos read_time = 0;
  Nanos born = 0;  // followed only since then (joined a cgroup); 0: since the window's start
};

// Turns scheduler events in time order into intervals and accounts. The one place that knows what
// may follow what; no I/O, no clock, no kernel version.
///
/// tid 7  ====.....~~====     = on CPU   . blocked   ~ runnable
///        0   4    9 11       one interval: off 4, woken 9, on 11
///
// A thread's time goes to exactly one account at any moment, so that they add up by construction.
// Where the events don't tell (a hidden switch, a loss), it goes to `unknown` and no interval is
// made. Losses must be delivered before any later event (model::EventSink).
class Tracker {
 public:
  Tracker(model::IntervalSink& intervals, model::StackInterner& stacks,
          model::ThreadDirectory& directory, bool wakeups_recorded);

  // The window's start; events before it set the scene but count for nothing. Called before all
  // else.
  void Begin(Nanos window_start) { window_start_ = window_start; }
  Nanos window_start() const { return window_start_; }

  void Follow(const Seed& seed);
  // Follows a thread that is on `cpu` right now (an exec of the traced command).
  void FollowRunning(model::Tid tid, model::ThreadRow row, model::Cpu cpu, Nanos time);

  // `row` 0: a thread that is not followed. No-op but for the time when SeededAfter(tid, time).
  void OnBirth(model::Tid tid, model::ThreadRow row, Nanos time);
  // The thread is no longer followed (it left the cgroup).
  void Forget(model::Tid tid, Nanos time);
  // `old_tid` called execve and took over its leader's id while it ran on `cpu`.
  void OnExecTakesOver(model::Tid old_tid, model::Tid leader, model::ThreadRow leader_row,
                       model::Cpu cpu, Nanos time);

  void OnSwitch(const model::Switch& event);
  void OnSwitchIn(const model::SwitchIn& event);
  void OnWakeup(const model::Wakeup& event);
  void OnLoss(const model::Loss& loss);

  // Threads that the kernel tracks (model/tracked.h): from the hand-over on nothing else comes of
  // them. OnAccount is false when the thread is not followed.
  void OnHandOver(const model::HandOver& event);
  void OnTrackedInterval(const model::TrackedInterval& tracked);
  bool OnAccount(const model::TrackedAccount& tracked);

  // Closes everything at the end of the window: open intervals come out as right-open.
  void Finish(Nanos window_end);

  bool IsRunning(model::Tid tid, model::Cpu cpu) const;
  // A thread known from a Seed only, that was read at `time` or later.
  bool SeededAfter(model::Tid tid, Nanos time) const;
  bool Follows(model::Tid tid) const;

  // CPUs on which a thread came from the idle task without a switch being seen, since the last
  // call.
  std::vector<model::Cpu> TakeIdleBreaks();

  // A switch from the CPU's idle task was seen, so it is not hidden.
  bool IdleSeen(model::Cpu cpu) const;

  // Element 0 is a placeholder; the index is a model::ThreadRow.
  const std::vector<Account>& accounts() const { return accounts_; }
  const TrackerCounters& counters() const { return counters_; }

 private:
  enum class State : uint8_t {
    kFree,     // the slot has no thread
    kInitial,  // existed at the start, no event yet
    kNewborn,  // never ran yet
    kRunning,
    kOff,
    kUnknown,
    kElsewhere,  // the kernel tracks it
  };

  struct Thread {
    State state = State::kFree;
    bool seeded = false;     // task_state and read_time are from a Seed
    bool preempted = false;  // of the switch-out, in kOff
    model::Tid tid = 0;
    model::ThreadRow row = 0;
    model::Cpu cpu = -1;  // where it runs, or ran last
    uint32_t task_state = 0;
    Nanos born = 0;   // or the window's start
    Nanos since = 0;  // of the state
    Nanos read_time = 0;
    Nanos wakeup = 0;
    model::StackIds stacks;
    model::Comm comm{};
  };

  struct CpuState {
    model::Tid current = kNobody;  // whom the last event left running
    bool seen = false;             // any switch event yet
    bool idle_seen = false;        // one whose prev was the idle task
    Nanos loss_until = 0;          // no switch on this CPU before it is certain to have been seen
  };

  static constexpr model::Tid kNobody = -1;
  static constexpr uint32_t kIgnored = ~uint32_t{0};

  CpuState& CpuAt(model::Cpu cpu) {
    OFFCPU_CHECK(cpu >= 0);
    const auto at = static_cast<size_t>(cpu);
    if (at >= cpus_.size()) cpus_.resize(at + 1);
    return cpus_[at];
  }
  Thread* Find(model::Tid tid, model::Pid pid);
  Thread& NewThread(model::Tid tid, model::ThreadRow row, State state, Nanos since);
  void CloseAccount(const Thread& thread, Nanos time);
  void Release(Thread& thread, Nanos time);

  void LeaveUnseen(model::Cpu cpu);
  void NoteIdleBreak(model::Cpu cpu);
  void SwitchOut(Thread& thread, const model::Switch& event, bool first_on_cpu);
  void EndBeforeSwitchOut(Thread& thread, const model::Switch& event, bool first_on_cpu);
  void SwitchTo(Thread& thread, model::Cpu cpu, Nanos time);
  void EndBeforeSwitchIn(Thread& thread, Nanos time);
  void EndRunning(Thread& thread, Nanos time);
  void EndOff(Thread& thread, Nanos time, bool right_open);
  void EndHere(Thread& thread, Nanos time, model::HandOver::Before before);
  void EndInitial(Thread& thread, Nanos time, bool right_open);
  void EndHidden(Thread& thread, Nanos time);
  void EndUnknown(Thread& thread, Nanos time);
  bool DropIfLost(Thread& thread, Nanos time);
  void FinishThread(Thread& thread, Nanos window_end);
  bool RanAlone(const Thread& thread) const;

  Account& AccountOf(const Thread& thread);
  Nanos InWindow(Nanos from, Nanos to) const;
  void Deliver(const Thread& thread, model::Interval interval);

  model::IntervalSink& intervals_;
  model::StackInterner& stacks_;
  model::ThreadDirectory& directory_;
  const bool wakeups_recorded_;
  Nanos window_start_ = 0;
  Nanos loss_until_ = 0;  // over all CPUs: a sleeper may have been switched in on any of them
  TidMap slots_;          // tid to position in threads_, or kIgnored
  std::vector<Thread> threads_;
  std::vector<uint32_t> free_slots_;
  std::vector<CpuState> cpus_;
  std::vector<model::Cpu> idle_breaks_;
  std::vector<Account> accounts_;
  TrackerCounters counters_;
};

}  // namespace offcpu::sched
