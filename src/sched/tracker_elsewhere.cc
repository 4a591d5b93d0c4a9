// SPDX-License-Identifier: MIT
#include <algorithm>

#include "sched/tracker.h"

// Threads that a program in the kernel tracks from their first switch in the window on
// (model/tracked.h): their intervals and accounts come ready.
namespace offcpu::sched {

// Ends what is known of the thread from /proc or its birth, at its first switch in the window.
void Tracker::EndHere(Thread& thread, Nanos time, model::HandOver::Before before) {
  if (thread.state == State::kElsewhere) {
    EndUnknown(thread, time);  // another thread of this id, whose account was lost
  } else if (before == model::HandOver::kRan &&
             (thread.state == State::kInitial || thread.state == State::kRunning)) {
    // The kernel saw every switch since the window's start, and this is the first.
    AccountOf(thread).on_cpu += InWindow(thread.since, time);
  } else if (before != model::HandOver::kWasOff) {
    EndHidden(thread, time);
  } else {
    EndBeforeSwitchIn(thread, time);
  }
}

void Tracker::OnHandOver(const model::HandOver& event) {
  if (event.fresh && Follows(event.tid)) Release(threads_[slots_.Get(event.tid)], event.time);
  Thread* thread = Find(event.tid, event.pid);
  if (thread == nullptr) return;
  if (event.fresh) {
    thread->born = thread->since = std::max(event.time, window_start_);
    if (AccountOf(*thread).lives == 0) AccountOf(*thread).first = thread->born;
  }
  if (event.wakeup != 0) OnWakeup({event.wakeup, 0, event.tid});
  EndHere(*thread, event.time, event.before);
  thread->state = State::kElsewhere;
  thread->since = std::max(event.time, thread->since);
  thread->wakeup = 0;
}

void Tracker::OnTrackedInterval(const model::TrackedInterval& tracked) {
  const Thread* thread = Find(tracked.tid, tracked.pid);
  if (thread == nullptr) return;
  model::Interval interval = tracked.interval;
  interval.thread = thread->row;
  const model::StackIds stacks =
      tracked.chain.present ? stacks_.Intern(tracked.pid, tracked.chain) : model::StackIds{};
  interval.kernel_stack = stacks.kernel;
  interval.user_stack = stacks.user;
  intervals_.OnInterval(interval);
}

bool Tracker::OnAccount(const model::TrackedAccount& tracked) {
  Thread* thread = Find(tracked.tid, tracked.pid);
  if (thread == nullptr) return false;
  if (thread->state != State::kElsewhere) EndUnknown(*thread, tracked.from);  // hand-over lost
  Account& sum = AccountOf(*thread);
  const Account& account = tracked.account;
  sum.on_cpu += account.on_cpu;
  sum.blocked.sleeping += account.blocked.sleeping;
  sum.blocked.runqueue += account.blocked.runqueue;
  sum.blocked.unsplit += account.blocked.unsplit;
  sum.runnable += account.runnable;
  sum.preempted += account.preempted;
  sum.unknown += account.unknown;
  sum.voluntary_switches += account.voluntary_switches;
  sum.involuntary_switches += account.involuntary_switches;
  sum.switch_ins += account.switch_ins;
  counters_.lost_intervals += tracked.lost_intervals;
  counters_.lost_time += tracked.lost_time;
  counters_.hidden_intervals += tracked.hidden_intervals;
  counters_.hidden_time += tracked.hidden_time;
  thread->state = State::kElsewhere;
  thread->since = std::max(tracked.to, thread->since);
  if (tracked.ended) Release(*thread, thread->since);
  return true;
}

}  // namespace offcpu::sched
