// SPDX-License-Identifier: MIT
#include "record/session.h"

#include <algorithm>
#include <utility>

#include "process/proc_reader.h"
#include "sched/time_parts.h"

namespace offcpu::record {
namespace {

constexpr size_t kMaxLossSpans = 10'000;
constexpr model::Pid kKthreadd = 2;  // the parent of all kernel threads

symbolize::Options SymbolOptions(const Options& options) {
  symbolize::Options symbols;
  symbols.inlines = options.inlines;
  symbols.live = options.live;
  symbols.below = options.symbols_below;
  symbols.same_host = options.same_host;
  symbols.same_kernel = options.same_kernel;
  if (!options.live) symbols.kallsyms = options.kernel_symbols;
  symbols.names = options.names;
  symbols.kallsyms_text = options.kallsyms_text;
  return symbols;
}

// A live recording has chains only, and each call counts.
model::StackInterner& InternerOf(bool live, process::StackTable& stacks,
                                 unwind::CopiedStacks& copied_stacks) {
  if (live) return stacks;
  return copied_stacks;
}

}  // namespace

Session::Session(const Options& options)
    : options_(options),
      stacks_(processes_),
      copied_stacks_(processes_, stacks_, SymbolOptions(options)),
      follower_(options.target, processes_, options.live),
      keeper_(options.selection),
      worker_(SymbolOptions(options)),
      tracker_(*this, InternerOf(options.live, stacks_, copied_stacks_), follower_,
               options.time_split) {}

// ---- the window and who is in it ----------------------------------------------------------------

void Session::Begin(Nanos time) {
  begin_ = time;
  if (options_.target.kind != Target::Kind::kCommand) OpenWindow(time);
}

void Session::OpenWindow(Nanos time) {
  tracker_.Begin(time);
  profile::Builder::Options builder;
  builder.window_start = time;
  builder_.emplace(builder);
  window_open_ = true;
}

void Session::Seed(model::Pid pid, model::Tid tid, Nanos born) {
  const auto stat = process::ReadThreadStat(pid, tid);
  if (!stat) return;  // it has ended
  sched::Seed seed;
  seed.tid = tid;
  seed.read_time = MonotonicNow();
  seed.task_state = stat->task_state;
  seed.cpu = stat->cpu;
  seed.born = born;
  if ((stat->task_state & (model::kTaskZombie | model::kTaskDead)) != 0) return;
  seed.row = processes_.AddThread(pid, tid, stat->comm);
  if (seed_cpus_.size() <= seed.row) seed_cpus_.resize(seed.row + 1, -1);
  seed_cpus_[seed.row] = stat->cpu;
  tracker_.Follow(seed);
  const bool asleep = stat->task_state != model::kTaskRunning && born == 0;
  if (asleep || processes_.IsNamespaced(pid)) newcomers_.push_back({pid, tid, seed.row, asleep});
}

// A recording says that the thread existed when it began; in what state, it does not say.
void Session::SeedRecorded(model::Pid pid, model::Tid tid, const model::Comm& comm,
                           bool kernel_thread) {
  processes_.AddProcess(pid, comm, kernel_thread);
  if (processes_.FindThread(tid) != 0) return;
  sched::Seed seed;
  seed.tid = tid;
  seed.row = processes_.AddThread(pid, tid, comm);
  tracker_.Follow(seed);
}

void Session::SeedExistingThreads() {
  for (const Follower::Found& found : follower_.ExistingThreads()) {
    Seed(found.pid, found.tid, /*born=*/0);
  }
  // A target that has ended meanwhile, or is a zombie, is not waited for.
  for (model::Pid pid : processes_.Processes()) {
    if (processes_.ThreadsOf(pid).empty()) processes_.ApplyExit({begin_, pid, pid});
  }
}

void Session::AdoptProcess(model::Pid pid, Nanos time) {
  const auto stat = process::ReadThreadStat(pid, pid);
  if (!stat || processes_.HasProcess(pid)) return;
  follower_.Add(pid, stat->comm, stat->kernel_thread);
  if (!processes_.HasProcess(pid)) return;
  for (model::Tid tid : process::ListThreads(pid)) Seed(pid, tid, time);
}

void Session::RescanCgroup() {
  const std::vector<model::Pid> members = follower_.WantedProcesses();
  for (model::Pid pid : members) AdoptProcess(pid, MonotonicNow());
  for (model::Pid pid : processes_.Processes()) {
    if (std::binary_search(members.begin(), members.end(), pid)) continue;
    if (!process::ProcessOfThread(pid)) continue;  // ended: its own events tell
    for (model::Tid tid : processes_.ThreadsOf(pid)) {
      tracker_.Forget(tid, MonotonicNow());
      processes_.ApplyExit({0, pid, tid});
    }
  }
}

bool Session::TargetEnded() const {
  // A cgroup may be empty for a while.
  const bool can_end = options_.target.kind == Target::Kind::kProcesses ||
                       options_.target.kind == Target::Kind::kThreads;
  return can_end && processes_.empty();
}

// ---- events -------------------------------------------------------------------------------------

void Session::OnSwitch(const model::Switch& event) {
  if (event.time >= begin_) tracker_.OnSwitch(event);
}

void Session::OnSwitchIn(const model::SwitchIn& event) {
  if (event.time >= begin_) tracker_.OnSwitchIn(event);
}

void Session::OnWakeup(const model::Wakeup& event) {
  if (event.time >= begin_) tracker_.OnWakeup(event);
}

void Session::OnFork(const model::Fork& event) {
  if (TellsOfThePast(event.time)) {
    const bool kernel_thread = event.pid == kKthreadd || event.parent_pid == kKthreadd;
    SeedRecorded(event.pid, event.tid, model::Comm{}, kernel_thread);
    return;
  }
  if (event.time < begin_) return;  // found in /proc
  if (tracker_.SeededAfter(event.tid, event.time)) {
    tracker_.OnBirth(event.tid, 0, event.time);
    return;
  }
  if (!follower_.FollowsFork(event)) {
    tracker_.OnBirth(event.tid, 0, event.time);
    return;
  }
  processes_.ApplyFork(event);
  const model::ThreadRow parent = processes_.FindThread(event.parent_tid);
  const model::Comm comm = parent == 0 ? model::Comm{} : processes_.row(parent).comm;
  const model::ThreadRow row = processes_.AddThread(event.pid, event.tid, comm);
  tracker_.OnBirth(event.tid, row, event.time);
  // A new process may have come in a pid namespace of its own.
  if (options_.live && (event.tid == event.pid || processes_.IsNamespaced(event.pid))) {
    newcomers_.push_back({event.pid, event.tid, row, false});
  }
}

void Session::OnCommChange(const model::CommChange& event) {
  if (TellsOfThePast(event.time)) {
    SeedRecorded(event.pid, event.tid, event.comm, /*kernel_thread=*/false);
  } else if (event.exec && event.cpu >= 0) {
    OnExec(event);
  }
  processes_.ApplyCommChange(event);
  if (!options_.live || !event.exec || !processes_.HasProcess(event.pid)) return;
  const auto name = process::NameBehindLoader(event.pid, event.comm);
  if (name) processes_.RenameProcess(event.pid, *name);
}

void Session::OnExec(const model::CommChange& event) {
  const bool is_command = options_.target.kind == Target::Kind::kCommand && !window_open_ &&
                          event.pid == options_.target.pids.front();
  if (is_command) {
    OpenWindow(event.time);
    processes_.AddProcess(event.pid, event.comm, false);
    tracker_.FollowRunning(event.tid, processes_.AddThread(event.pid, event.tid, event.comm),
                           event.cpu, event.time);
    return;
  }
  if (!options_.live && !processes_.HasProcess(event.pid)) {
    // What is recorded begins with this exec (perf record COMMAND).
    processes_.AddProcess(event.pid, event.comm, false);
    tracker_.FollowRunning(event.tid, processes_.AddThread(event.pid, event.tid, event.comm),
                           event.cpu, event.time);
    return;
  }
  // A thread that is not the leader takes over the leader's id; its own never gets an exit record
  // (K2).
  const std::vector<model::Tid> threads = processes_.ThreadsOf(event.pid);
  auto caller = std::find_if(threads.begin(), threads.end(), [&](model::Tid tid) {
    return tid != event.pid && tracker_.IsRunning(tid, event.cpu);
  });
  if (caller == threads.end() && processes_.FindThread(event.pid) == 0) caller = threads.begin();
  if (caller == threads.end() || *caller == event.pid) return;
  const model::ThreadRow row = processes_.AddThread(event.pid, event.pid, event.comm);
  tracker_.OnExecTakesOver(*caller, event.pid, row, event.cpu, event.time);
  processes_.ApplyExit({event.time, event.pid, *caller});
}

// The tracker follows a thread up to its last switch-out, if that is still to come.
void Session::OnExit(const model::Exit& event) {
  if (event.last && event.time >= begin_) tracker_.Forget(event.tid, event.time);
  processes_.ApplyExit(event);
}

void Session::OnMap(const model::Map& event) {
  if (!options_.live) processes_.AddProcess(event.pid, model::Comm{}, false);
  processes_.ApplyMap(event);
}

void Session::OnCgroupMove(const model::CgroupMove& event) {
  if (!follower_.InCgroup(event.path)) return;
  if (const auto pid = process::ProcessOfThread(event.tid)) AdoptProcess(*pid, event.time);
}

void Session::OnLoss(const model::Loss& loss) {
  tracker_.OnLoss(loss);
  NoteLoss(loss);
}

void Session::OnHandOver(const model::HandOver& event) { tracker_.OnHandOver(event); }

void Session::OnTrackedInterval(const model::TrackedInterval& tracked) {
  tracker_.OnTrackedInterval(tracked);
}

void Session::OnTrackedAccount(const model::TrackedAccount& tracked) {
  if (!tracker_.OnAccount(tracked)) return;
  for (const model::RejectedIntervals& rejected : tracked.rejected) keeper_.Count(rejected);
}

void Session::OnTrackedLoss(const model::Loss& loss) { NoteLoss(loss); }

void Session::NoteLoss(const model::Loss& loss) {
  if (loss.to == model::kStillLosing || loss.to < begin_) return;
  lost_events_ += loss.count;
  if (loss.count == 0) return;
  if (losses_.size() < kMaxLossSpans) {
    losses_.push_back(loss);
  } else {
    ++losses_not_kept_;
  }
}

// ---- intervals ----------------------------------------------------------------------------------

void Session::OnInterval(const model::Interval& interval) {
  processes_.NameThread(interval.thread, interval.comm);
  if (!keeper_.Keep(interval, processes_.row(interval.thread).kernel_thread)) return;
  const bool before_any_event = interval.left_open && interval.since == 0;
  if (before_any_event) {
    left_open_.push_back(interval);
  } else {
    Keep(interval);
  }
}

void Session::Keep(model::Interval interval) {
  // Where switches come without names, the thread has the one it left with.
  if (interval.comm[0] == '\0') interval.comm = processes_.row(interval.thread).comm;
  const model::TimeParts parts = sched::SplitTime(interval, options_.time_split);
  builder_->Add(interval, parts, processes_.ProcessName(interval.thread));
}

// Intervals of threads that were asleep before the start: where they slept and since when is known
// from /proc, if it was read before they woke.
void Session::KeepLeftOpen(const ExecStartOffset& exec_start_offset) {
  for (model::Interval& interval : left_open_) {
    interval.comm = processes_.row(interval.thread).comm;
    const NewcomerInfo* info = worker_.InfoOf(interval.thread);
    const bool valid = info != nullptr && (interval.right_open || info->read_time < interval.end);
    if (options_.kernel_stacks) {
      interval.kernel_stack =
          valid && info->kernel_stack != 0 ? info->kernel_stack : SymbolWorker::kAsleepBefore;
    }
    const auto offset = exec_start_offset(
        seed_cpus_.size() > interval.thread ? seed_cpus_[interval.thread] : model::Cpu{-1});
    if (valid && info->exec_start && offset) {
      const auto since = static_cast<int64_t>(*info->exec_start) + *offset;
      if (since > 0 && static_cast<Nanos>(since) <= interval.start) {
        interval.since = static_cast<Nanos>(since);
      }
    }
    Keep(interval);
  }
  left_open_.clear();
}

void Session::Flush() {
  worker_.Give(
      {processes_.TakeNewModules(), stacks_.TakeNewStacks(), std::exchange(newcomers_, {})});
}

// ---- the result ---------------------------------------------------------------------------------

std::vector<profile::ThreadInput> Session::Threads() const {
  std::vector<profile::ThreadInput> threads;
  const Nanos start = tracker_.window_start();
  for (model::ThreadRow at = 1; at < processes_.rows().size(); ++at) {
    const process::Row& row = processes_.row(at);
    const sched::Account account =
        at < tracker_.accounts().size() ? tracker_.accounts()[at] : sched::Account{};
    profile::Thread thread;
    thread.pid = row.pid;
    thread.tid = row.tid;
    const NewcomerInfo* info = worker_.InfoOf(at);
    thread.inner_pid = info != nullptr ? info->inner_pid : row.pid;
    thread.inner_tid = info != nullptr ? info->inner_tid : row.tid;
    thread.kernel_thread = row.kernel_thread;
    if (row.tid == 0) {
      thread.merged_threads = account.lives;
      thread.last_ns = account.life;
    } else {
      thread.first_ns = account.first > start ? account.first - start : 0;
      thread.last_ns = thread.first_ns + account.life;
    }
    thread.on_cpu_ns = account.on_cpu;
    thread.sleeping_ns = account.blocked.sleeping;
    thread.runqueue_ns = account.blocked.runqueue;
    thread.unsplit_ns = account.blocked.unsplit;
    thread.runnable_ns = account.runnable;
    thread.preempted_ns = account.preempted;
    thread.newborn_ns = account.newborn;
    thread.unknown_ns = account.unknown;
    thread.voluntary_switches = account.voluntary_switches;
    thread.involuntary_switches = account.involuntary_switches;
    thread.switch_ins = account.switch_ins;
    threads.push_back({thread, std::string(model::CommView(row.comm)),
                       std::string(model::CommView(processes_.ProcessName(at)))});
  }
  return threads;
}

void Session::AddLosses(profile::Profile* profile, Nanos window_end) const {
  const Nanos start = tracker_.window_start();
  const auto clip = [&](Nanos time) { return std::clamp(time, start, window_end) - start; };
  profile->lost_events = lost_events_;
  profile->loss_spans_dropped = losses_not_kept_;
  for (const model::Loss& loss : losses_) {
    profile->losses.push_back({loss.cpu, clip(loss.from), clip(loss.to), loss.count});
  }
  std::sort(profile->losses.begin(), profile->losses.end(),
            [](const profile::LossSpan& a, const profile::LossSpan& b) {
              return a.from_ns != b.from_ns ? a.from_ns < b.from_ns : a.cpu < b.cpu;
            });
}

void Session::AddNotes(profile::Profile* profile) const {
  const sched::TrackerCounters& counters = tracker_.counters();
  const auto note = [&](const char* name, uint64_t count, Nanos ns) {
    if (count != 0) profile->notes.push_back({name, count, ns});
  };
  note("switches", counters.switches, 0);
  note("lost_intervals", counters.lost_intervals, counters.lost_time);
  note("hidden_switches", counters.hidden_switches, 0);
  note("hidden_intervals", counters.hidden_intervals, counters.hidden_time);
  note("backward_times", counters.backward_times, 0);
  note("outside_wakeups", counters.outside_wakeups, 0);
  note("stacks_over_limit", stacks_.overflows(), 0);
  note("stacks_walked", copied_stacks_.counters().walked, 0);
  note("stack_walks_ended_early", copied_stacks_.counters().ended_early, 0);
}

profile::Profile Session::Finish(Nanos window_end, profile::Profile frame,
                                 const ExecStartOffset& exec_start_offset) {
  if (!window_open_) OpenWindow(window_end);
  tracker_.Finish(window_end);
  Flush();
  worker_.Finish();
  KeepLeftOpen(exec_start_offset);
  frame.window_ns = window_end - tracker_.window_start();
  frame.origin.start_monotonic_ns = tracker_.window_start();
  frame.intervals = keeper_.ByReason();
  frame.rejected = keeper_.Rejected();
  AddLosses(&frame, window_end);
  AddNotes(&frame);
  const auto names = [this](model::StackId id) { return worker_.Names(id); };
  profile::Profile profile = builder_->Build(std::move(frame), Threads(), names);
  for (std::string& warning : worker_.Warnings()) profile.warnings.push_back(std::move(warning));
  return profile;
}

}  // namespace offcpu::record
