// SPDX-License-Identifier: MIT
#include "sched/tracker.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "sched/time_parts.h"

namespace offcpu::sched {

using model::kTaskDead;
using model::kTaskRunning;
using model::kTaskUnknownState;
using model::kTaskZombie;
using model::Reason;
using model::Tid;

Tracker::Tracker(model::IntervalSink& intervals, model::StackInterner& stacks,
                 model::ThreadDirectory& directory, bool wakeups_recorded)
    : intervals_(intervals),
      stacks_(stacks),
      directory_(directory),
      wakeups_recorded_(wakeups_recorded),
      threads_(1),  // slot 0 means "none" in slots_
      accounts_(1) {}

// ---- who is followed ----------------------------------------------------------------------------

Tracker::Thread& Tracker::NewThread(Tid tid, model::ThreadRow row, State state, Nanos since) {
  OFFCPU_CHECK(row != 0);
  uint32_t slot = slots_.Get(tid);
  if (slot != 0 && slot != kIgnored) Release(threads_[slot], since);
  if (free_slots_.empty()) {
    slot = static_cast<uint32_t>(threads_.size());
    threads_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  slots_.Set(tid, slot);
  Thread& thread = threads_[slot];
  thread = Thread{};
  thread.state = state;
  thread.tid = tid;
  thread.row = row;
  thread.born = std::max(since, window_start_);
  thread.since = since;
  if (accounts_.size() <= row) accounts_.resize(row + 1);
  if (accounts_[row].lives == 0) accounts_[row].first = thread.born;
  return thread;
}

void Tracker::Follow(const Seed& seed) {
  Thread& thread =
      NewThread(seed.tid, seed.row, State::kInitial, std::max(seed.born, window_start_));
  thread.seeded = true;
  thread.task_state = seed.task_state;
  thread.cpu = seed.cpu;
  thread.read_time = seed.read_time;
}

void Tracker::FollowRunning(Tid tid, model::ThreadRow row, model::Cpu cpu, Nanos time) {
  NewThread(tid, row, State::kRunning, time).cpu = cpu;
}

bool Tracker::SeededAfter(Tid tid, Nanos time) const {
  if (!Follows(tid)) return false;
  const Thread& thread = threads_[slots_.Get(tid)];
  return thread.state == State::kInitial && thread.seeded && thread.read_time >= time;
}

void Tracker::OnBirth(Tid tid, model::ThreadRow row, Nanos time) {
  if (SeededAfter(tid, time)) {  // /proc was read after this birth: it is the same thread
    Thread& thread = threads_[slots_.Get(tid)];
    thread.state = State::kNewborn;
    thread.born = thread.since = std::max(time, window_start_);
    AccountOf(thread).first = thread.born;
    return;
  }
  if (row != 0) {
    NewThread(tid, row, State::kNewborn, time);
    return;
  }
  const uint32_t slot = slots_.Get(tid);
  if (slot != 0 && slot != kIgnored) Release(threads_[slot], time);
  slots_.Set(tid, kIgnored);
}

void Tracker::Forget(Tid tid, Nanos time) {
  if (!Follows(tid)) return;
  Thread& thread = threads_[slots_.Get(tid)];
  if (thread.state == State::kRunning) {
    EndRunning(thread, time);
    thread.since = std::max(time, thread.since);
  }
  Release(thread, time);
  slots_.Set(tid, kIgnored);
}

void Tracker::OnExecTakesOver(Tid old_tid, Tid leader, model::ThreadRow leader_row, model::Cpu cpu,
                              Nanos time) {
  if (Thread* caller = Find(old_tid, -1)) {
    if (caller->state == State::kRunning) {
      EndRunning(*caller, time);
      caller->since = std::max(time, caller->since);
    }
    Release(*caller, time);
  }
  FollowRunning(leader, leader_row, cpu, time);
  CpuAt(cpu).current = leader;
}

Tracker::Thread* Tracker::Find(Tid tid, model::Pid pid) {
  if (tid == 0 || !model::IsPossibleTid(tid)) return nullptr;
  const uint32_t slot = slots_.Get(tid);
  if (slot == kIgnored) return nullptr;
  if (slot != 0) return &threads_[slot];
  const auto answer = directory_.LookUp(tid, pid);
  if (answer.kind == model::ThreadDirectory::Answer::kIgnore) slots_.Set(tid, kIgnored);
  if (answer.kind != model::ThreadDirectory::Answer::kFollow) return nullptr;
  return &NewThread(tid, answer.row, State::kInitial, 0);
}

bool Tracker::Follows(Tid tid) const {
  const uint32_t slot = tid != 0 && model::IsPossibleTid(tid) ? slots_.Get(tid) : 0;
  return slot != 0 && slot != kIgnored;
}

bool Tracker::IsRunning(Tid tid, model::Cpu cpu) const {
  if (!Follows(tid)) return false;
  const Thread& thread = threads_[slots_.Get(tid)];
  return thread.state == State::kRunning && thread.cpu == cpu;
}

void Tracker::CloseAccount(const Thread& thread, Nanos time) {
  Account& account = AccountOf(thread);
  account.last = std::max(time, thread.born);
  account.life += account.last - thread.born;
  ++account.lives;
}

void Tracker::Release(Thread& thread, Nanos time) {
  // Whatever state is still open here was not ended by an event: its time is unknown.
  if (thread.since < time) EndUnknown(thread, time);
  CloseAccount(thread, std::max(time, thread.since));
  const uint32_t slot = slots_.Get(thread.tid);
  slots_.Set(thread.tid, 0);
  thread = Thread{};
  free_slots_.push_back(slot);
}

// ---- events -------------------------------------------------------------------------------------

void Tracker::OnSwitch(const model::Switch& event) {
  if (event.time >= window_start_) ++counters_.switches;
  CpuState& cpu = CpuAt(event.cpu);
  const bool first_on_cpu = !cpu.seen;
  cpu.seen = true;
  if (event.prev_tid == 0) cpu.idle_seen = true;
  if (cpu.current != kNobody && cpu.current != event.prev_tid) {
    if (event.time >= window_start_) ++counters_.hidden_switches;
    if (cpu.current == 0) NoteIdleBreak(event.cpu);
    LeaveUnseen(event.cpu);
  }
  if (Thread* prev = Find(event.prev_tid, event.prev_pid)) SwitchOut(*prev, event, first_on_cpu);
  if (Thread* next = Find(event.next_tid, -1)) SwitchTo(*next, event.cpu, event.time);
  CpuAt(event.cpu).current = event.next_tid;
}

void Tracker::OnSwitchIn(const model::SwitchIn& event) {
  CpuState& cpu = CpuAt(event.cpu);
  cpu.seen = true;
  // Written by the thread itself a little after its sched_switch, if that was seen.
  if (cpu.current == event.tid) return;
  LeaveUnseen(event.cpu);
  cpu.current = event.tid;
  Thread* thread = Find(event.tid, -1);
  if (thread != nullptr) SwitchTo(*thread, event.cpu, event.time);
}

// A CPU's events must follow on each other: who leaves is who came last. Where they don't, both
// switches in between were hidden; only these two threads' time is unknown (KF 4). This is the one
// that left; the one that arrived shows at its own switch-out, which finds it not running.
void Tracker::LeaveUnseen(model::Cpu cpu) {
  const Tid tid = CpuAt(cpu).current;
  if (IsRunning(tid, cpu))
    threads_[slots_.Get(tid)].state = State::kUnknown;  // since its switch-in
}

void Tracker::NoteIdleBreak(model::Cpu cpu) {
  if (std::find(idle_breaks_.begin(), idle_breaks_.end(), cpu) == idle_breaks_.end()) {
    idle_breaks_.push_back(cpu);
  }
}

bool Tracker::IdleSeen(model::Cpu cpu) const {
  const auto at = static_cast<size_t>(cpu);
  return cpu >= 0 && at < cpus_.size() && cpus_[at].idle_seen;
}

std::vector<model::Cpu> Tracker::TakeIdleBreaks() { return std::exchange(idle_breaks_, {}); }

void Tracker::SwitchOut(Thread& thread, const model::Switch& event, bool first_on_cpu) {
  EndBeforeSwitchOut(thread, event, first_on_cpu);
  const Reason reason = model::ReasonOf(event.prev_state, event.preempted);
  if (event.time >= window_start_) {
    Account& account = AccountOf(thread);
    ++(reason == Reason::kBlocked ? account.voluntary_switches : account.involuntary_switches);
  }
  thread.since = std::max(event.time, thread.since);
  if (reason == Reason::kBlocked && (event.prev_state & (kTaskDead | kTaskZombie)) != 0) {
    Release(thread, thread.since);
    return;
  }
  thread.state = State::kOff;
  thread.cpu = event.cpu;
  thread.task_state = event.prev_state;
  thread.preempted = event.preempted;
  thread.wakeup = 0;
  thread.comm = event.prev_comm;
  thread.stacks =
      event.chain.present ? stacks_.Intern(event.prev_pid, event.chain) : model::StackIds{};
}

void Tracker::EndBeforeSwitchOut(Thread& thread, const model::Switch& event, bool first_on_cpu) {
  switch (thread.state) {
    case State::kRunning:
      if (thread.cpu == event.cpu) {
        EndRunning(thread, event.time);
      } else {
        EndHidden(thread, event.time);
      }
      break;
    case State::kInitial: {
      // The first event of a CPU tells who ran there all the time before it.
      const bool was_asleep =
          thread.seeded && thread.task_state != kTaskRunning && thread.read_time <= event.time;
      if (first_on_cpu && !was_asleep) {
        thread.cpu = event.cpu;
        EndRunning(thread, event.time);
      } else {
        EndHidden(thread, event.time);
      }
      break;
    }
    case State::kUnknown:
    case State::kElsewhere: EndUnknown(thread, event.time); break;
    case State::kOff:
    case State::kNewborn:
      EndHidden(thread, event.time);  // its switch-in was not seen
      break;
    case State::kFree: OFFCPU_CHECK(false);
  }
}

void Tracker::SwitchTo(Thread& thread, model::Cpu cpu, Nanos time) {
  EndBeforeSwitchIn(thread, time);
  if (time >= window_start_) ++AccountOf(thread).switch_ins;
  thread.state = State::kRunning;
  thread.cpu = cpu;
  thread.since = std::max(time, thread.since);
  thread.wakeup = 0;
}

void Tracker::EndBeforeSwitchIn(Thread& thread, Nanos time) {
  switch (thread.state) {
    case State::kOff: EndOff(thread, time, /*right_open=*/false); break;
    case State::kInitial: EndInitial(thread, time, /*right_open=*/false); break;
    case State::kNewborn:
      if (!DropIfLost(thread, time)) AccountOf(thread).newborn += InWindow(thread.since, time);
      break;
    case State::kRunning:  // its switch-out was not seen
      EndHidden(thread, time);
      break;
    case State::kUnknown:
    case State::kElsewhere: EndUnknown(thread, time); break;
    case State::kFree: OFFCPU_CHECK(false);
  }
}

void Tracker::OnWakeup(const model::Wakeup& event) {
  if (!Follows(event.tid)) return;
  Thread& thread = threads_[slots_.Get(event.tid)];
  const bool waits = thread.state == State::kInitial ||
                     (thread.state == State::kOff &&
                      model::ReasonOf(thread.task_state, thread.preempted) == Reason::kBlocked);
  if (!waits || event.time < thread.since) {
    if (thread.state != State::kNewborn) ++counters_.outside_wakeups;
    return;
  }
  if (thread.wakeup == 0) thread.wakeup = event.time;
}

void Tracker::OnLoss(const model::Loss& loss) {
  CpuState& cpu = CpuAt(loss.cpu);
  cpu.current = kNobody;
  cpu.seen = true;
  cpu.loss_until = loss.to;
  loss_until_ = 0;
  for (const CpuState& each : cpus_) loss_until_ = std::max(loss_until_, each.loss_until);
}

// ---- where time goes ----------------------------------------------------------------------------

Account& Tracker::AccountOf(const Thread& thread) { return accounts_[thread.row]; }

Nanos Tracker::InWindow(Nanos from, Nanos to) const {
  from = std::max(from, window_start_);
  return to > from ? to - from : 0;
}

void Tracker::EndRunning(Thread& thread, Nanos time) {
  const bool lost = thread.since < CpuAt(thread.cpu).loss_until;
  Account& account = AccountOf(thread);
  (lost ? account.unknown : account.on_cpu) += InWindow(thread.since, time);
}

void Tracker::EndUnknown(Thread& thread, Nanos time) {
  AccountOf(thread).unknown += InWindow(thread.since, time);
}

void Tracker::EndHidden(Thread& thread, Nanos time) {
  if (DropIfLost(thread, time)) return;
  EndUnknown(thread, time);
  if (time < window_start_) return;
  ++counters_.hidden_intervals;
  counters_.hidden_time += InWindow(thread.since, time);
}

// The end of what began before a loss may have been lost, on whichever CPU (law 3).
bool Tracker::DropIfLost(Thread& thread, Nanos time) {
  if (thread.since >= loss_until_) return false;
  EndUnknown(thread, time);
  ++counters_.lost_intervals;
  counters_.lost_time += InWindow(thread.since, time);
  return true;
}

void Tracker::EndOff(Thread& thread, Nanos time, bool right_open) {
  if (DropIfLost(thread, time)) return;
  if (time < thread.since) {
    ++counters_.backward_times;
    return;
  }
  model::Interval interval;
  interval.reason = model::ReasonOf(thread.task_state, thread.preempted);
  interval.task_state = thread.task_state;
  interval.start = thread.since;
  interval.end = time;
  interval.left_open = thread.since < window_start_;
  interval.since = interval.left_open ? thread.since : 0;
  interval.right_open = right_open;
  Deliver(thread, interval);
}

// Off the CPU since before the window, unless proven otherwise: what it waited for is known when
// /proc showed it asleep since, or when a wake-up came.
void Tracker::EndInitial(Thread& thread, Nanos time, bool right_open) {
  const bool was_asleep =
      thread.seeded && thread.task_state != kTaskRunning && thread.read_time <= time;
  if (DropIfLost(thread, time)) return;
  if (!was_asleep && thread.wakeup == 0) {
    EndUnknown(thread, time);
    return;
  }
  model::Interval interval;
  interval.reason = Reason::kBlocked;
  interval.task_state = was_asleep ? thread.task_state : uint32_t{kTaskUnknownState};
  interval.start = thread.since;
  interval.end = time;
  interval.left_open = true;
  interval.right_open = right_open;
  Deliver(thread, interval);
}

void Tracker::Deliver(const Thread& thread, model::Interval interval) {
  if (interval.end < window_start_) return;
  interval.thread = thread.row;
  interval.start = std::max(interval.start, window_start_);
  interval.wakeup = thread.wakeup == 0 ? 0 : std::max(thread.wakeup, interval.start);
  interval.kernel_stack = thread.stacks.kernel;
  interval.user_stack = thread.stacks.user;
  interval.comm = thread.comm;

  const model::TimeParts parts = SplitTime(interval, wakeups_recorded_);
  Account& account = AccountOf(thread);
  switch (interval.reason) {
    case Reason::kRunnable: account.runnable += interval.duration(); break;
    case Reason::kPreempted: account.preempted += interval.duration(); break;
    default:
      account.blocked.sleeping += parts.sleeping;
      account.blocked.runqueue += parts.runqueue;
      account.blocked.unsplit += parts.unsplit;
  }
  intervals_.OnInterval(interval);
}

// ---- the end ------------------------------------------------------------------------------------

// On a CPU without a single event nothing was switched: the one thread that /proc showed there
// running did so all along.
bool Tracker::RanAlone(const Thread& thread) const {
  if (!thread.seeded || thread.task_state != kTaskRunning || thread.cpu < 0) return false;
  const size_t cpu = static_cast<size_t>(thread.cpu);
  if (cpu < cpus_.size() && cpus_[cpu].seen) return false;
  return std::count_if(threads_.begin(), threads_.end(), [&](const Thread& other) {
           return other.state == State::kInitial && other.seeded &&
                  other.task_state == kTaskRunning && other.cpu == thread.cpu;
         }) == 1;
}

void Tracker::FinishThread(Thread& thread, Nanos window_end) {
  switch (thread.state) {
    case State::kRunning: EndRunning(thread, window_end); break;
    case State::kOff: EndOff(thread, window_end, /*right_open=*/true); break;
    case State::kNewborn:
      if (!DropIfLost(thread, window_end)) {
        AccountOf(thread).newborn += InWindow(thread.since, window_end);
      }
      break;
    case State::kInitial:
      if (RanAlone(thread)) {
        EndRunning(thread, window_end);
      } else {
        EndInitial(thread, window_end, /*right_open=*/true);
      }
      break;
    case State::kUnknown:
    case State::kElsewhere: EndUnknown(thread, window_end); break;  // since its account, if any
    case State::kFree: return;
  }
  CloseAccount(thread, window_end);
}

void Tracker::Finish(Nanos window_end) {
  // By row, so that the order of the last intervals does not depend on slots that were reused.
  std::vector<Thread*> living;
  for (Thread& thread : threads_) {
    if (thread.state != State::kFree) living.push_back(&thread);
  }
  std::sort(living.begin(), living.end(), [](const Thread* a, const Thread* b) {
    return a->row != b->row ? a->row < b->row : a->tid < b->tid;
  });
  for (Thread* thread : living) FinishThread(*thread, window_end);
}

}  // namespace offcpu::sched
