// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "model/sched_event.h"
#include "profile/canonical.h"
#include "profile/histogram.h"
#include "profile/interner.h"
#include "profile/profile.h"

// Small profiles for tests of all stages.
namespace offcpu::testing {

inline model::SymbolFrame UserFrame(std::string name, std::string module = "app") {
  return {model::FrameKind::kUser, false, std::move(name), std::move(module)};
}
inline model::SymbolFrame KernelFrame(std::string name, std::string module = "[kernel]") {
  return {model::FrameKind::kKernel, false, std::move(name), std::move(module)};
}
inline model::SymbolFrame MarkerFrame(std::string name) {
  return {model::FrameKind::kMarker, false, std::move(name), {}};
}

// What AddEntry is told; the rest of an entry follows from it.
struct EntrySpec {
  profile::ThreadId thread = 0;
  profile::NodeId user_stack = 0;
  profile::NodeId kernel_stack = 0;
  Nanos sleeping_ns = 0;
  Nanos runqueue_ns = 0;
  Nanos unsplit_ns = 0;
  uint64_t intervals = 1;  // all equally long, the remainder in one of them
  model::Reason reason = model::Reason::kBlocked;
  uint32_t task_state = model::kTaskInterruptible;
  Nanos at_ns = 0;  // where in the window the intervals stand, one after the other
};

// Builds a profile row by row and keeps its sums right: a thread lives through the whole window and
// is on the CPU when no entry says otherwise.
class ProfileFixture {
 public:
  explicit ProfileFixture(Nanos window_ns = 10 * kNanosPerSecond) {
    profile_.window_ns = window_ns;
    profile_.when_bucket_ns = profile::kMinWhenBucket << profile::WhenShift(window_ns);
    profile_.origin.producer = "offcpu 0.0.0";
    profile_.origin.backend = "perf";
    profile_.origin.reasons = {"blocked"};
  }

  // To change what the functions below leave alone; strings, frames and nodes only through them.
  profile::Profile& profile() { return profile_; }

  profile::StringId AddString(std::string_view text) { return interner_.AddString(text); }

  profile::NodeId AddStack(std::initializer_list<model::SymbolFrame> root_first) {
    return interner_.AddStack({root_first.begin(), root_first.size()});
  }
  profile::NodeId AddStack(const std::vector<model::SymbolFrame>& root_first) {
    return interner_.AddStack(root_first);
  }

  profile::ThreadId AddThread(model::Pid pid, model::Tid tid, std::string_view comm,
                              std::string_view process) {
    profile::Thread thread;
    thread.pid = thread.inner_pid = pid;
    thread.tid = thread.inner_tid = tid;
    thread.comm = AddString(comm);
    thread.process = AddString(process);
    thread.last_ns = thread.on_cpu_ns = profile_.window_ns;
    profile_.threads.push_back(thread);
    return static_cast<profile::ThreadId>(profile_.threads.size() - 1);
  }

  // The entry may be changed further; it moves with the next call.
  profile::Entry& AddEntry(const EntrySpec& spec) {
    const Nanos observed = spec.sleeping_ns + spec.runqueue_ns + spec.unsplit_ns;
    OFFCPU_CHECK(spec.intervals > 0 && spec.at_ns + observed <= profile_.window_ns);
    profile::Entry entry;
    entry.thread = spec.thread;
    entry.user_stack = spec.user_stack;
    entry.kernel_stack = spec.kernel_stack;
    entry.reason = spec.reason;
    entry.task_state = spec.task_state;
    entry.comm = profile_.threads[spec.thread].comm;
    entry.process = profile_.threads[spec.thread].process;
    entry.intervals = spec.intervals;
    entry.observed_ns = entry.estimated_ns = observed;
    entry.sleeping_ns = spec.sleeping_ns;
    entry.runqueue_ns = spec.runqueue_ns;
    entry.unsplit_ns = spec.unsplit_ns;
    FillHistograms(spec, &entry);
    if (spec.thread != 0) Account(spec, &profile_.threads[spec.thread]);
    profile_.entries.push_back(std::move(entry));
    return profile_.entries.back();
  }

  profile::Profile Build() const { return profile::Canonicalize(profile_); }

 private:
  void FillHistograms(const EntrySpec& spec, profile::Entry* entry) const {
    const Nanos each = entry->observed_ns / spec.intervals;
    entry->max_ns = each + entry->observed_ns % spec.intervals;
    entry->lengths = {{profile::LengthBucket(entry->max_ns), 1}};
    if (spec.intervals > 1) {
      profile::AddHistogram(&entry->lengths, {{profile::LengthBucket(each), spec.intervals - 1}});
    }
    const Nanos width = profile_.when_bucket_ns;
    const Nanos to = spec.at_ns + entry->observed_ns;
    for (Nanos from = spec.at_ns; from < to;) {
      const Nanos end = std::min(to, (from / width + 1) * width);
      entry->when.emplace_back(static_cast<uint32_t>(from / width), end - from);
      from = end;
    }
  }

  static void Account(const EntrySpec& spec, profile::Thread* thread) {
    const Nanos observed = spec.sleeping_ns + spec.runqueue_ns + spec.unsplit_ns;
    OFFCPU_CHECK(observed <= thread->on_cpu_ns);
    thread->on_cpu_ns -= observed;
    thread->switch_ins += spec.intervals;
    if (spec.reason == model::Reason::kBlocked) {
      thread->sleeping_ns += spec.sleeping_ns;
      thread->runqueue_ns += spec.runqueue_ns;
      thread->unsplit_ns += spec.unsplit_ns;
      thread->voluntary_switches += spec.intervals;
    } else {
      const bool preempted = spec.reason == model::Reason::kPreempted;
      (preempted ? thread->preempted_ns : thread->runnable_ns) += observed;
      thread->involuntary_switches += spec.intervals;
    }
  }

  profile::Profile profile_;
  profile::Interner interner_{&profile_};
};

// Two processes, three threads and a row of ended ones, five entries: every field of the format is
// used at least once. 10 s long.
inline profile::Profile SampleProfile() {
  using namespace std::string_literals;
  constexpr Nanos kMs = 1'000'000;
  ProfileFixture fixture;
  profile::Profile& p = fixture.profile();
  p.origin = {.producer = "offcpu 0.0.0",
              .backend = "perf",
              .host = "host",
              .kernel_release = "6.1.0",
              .machine = "x86_64",
              .command = "offcpu record -p 100 -d 10",
              .target = "pid 100",
              .reasons = {"blocked", "preempted"},
              .cpus = 2,
              .start_monotonic_ns = 5'000'000'000,
              .start_realtime_ns = 1'700'000'000'000'000'000};
  const auto main = fixture.AddThread(100, 100, "server", "server");
  const auto worker = fixture.AddThread(100, 101, "worker", "server");
  const auto kthread = fixture.AddThread(200, 200, "kworker/0:1", "kworker/0:1");
  p.threads[worker].inner_pid = 1;
  p.threads[worker].inner_tid = 2;
  p.threads[worker].first_ns = 1000 * kMs;
  p.threads[worker].on_cpu_ns -= 1000 * kMs;
  p.threads[kthread].kernel_thread = true;
  profile::Thread ended;
  ended.pid = ended.inner_pid = 100;
  ended.comm = ended.process = fixture.AddString("server");
  ended.merged_threads = 7;
  ended.last_ns = 1000;
  ended.newborn_ns = 400;
  ended.unknown_ns = 600;
  p.threads.push_back(ended);

  const auto poll = fixture.AddStack(
      {KernelFrame("do_syscall_64"), KernelFrame("ep_poll"), KernelFrame("schedule")});
  const auto lock = fixture.AddStack(
      {KernelFrame("do_syscall_64"), KernelFrame("futex_wait"), KernelFrame("schedule")});
  const auto loop = fixture.AddStack(
      {UserFrame("main"), UserFrame("loop"), UserFrame("epoll_wait", "libc.so.6")});
  model::SymbolFrame inlined = UserFrame("lock \xff;\n");  // names may have any bytes
  inlined.inlined = true;
  const auto take =
      fixture.AddStack({UserFrame("start_thread", "libc.so.6"), UserFrame("take"), inlined});
  const auto cut = fixture.AddStack({MarkerFrame("[truncated stack]"), UserFrame("deep")});

  auto& waits = fixture.AddEntry({.thread = main,
                                  .user_stack = loop,
                                  .kernel_stack = poll,
                                  .sleeping_ns = 8000 * kMs + 123,
                                  .runqueue_ns = 40 * kMs + 4,
                                  .intervals = 20,
                                  .at_ns = 100 * kMs});
  waits.left_open = 1;
  waits.before_ns = 77 * kMs;
  fixture.AddEntry({.thread = worker,
                    .user_stack = take,
                    .kernel_stack = lock,
                    .sleeping_ns = 30 * kMs,
                    .runqueue_ns = 2 * kMs,
                    .unsplit_ns = 5 * kMs,
                    .intervals = 3,
                    .at_ns = 1500 * kMs});
  auto& renamed = fixture.AddEntry({.thread = worker,
                                    .user_stack = cut,
                                    .kernel_stack = lock,
                                    .unsplit_ns = 1000 * kMs,
                                    .at_ns = 9000 * kMs});
  renamed.comm = fixture.AddString("old name");
  renamed.right_open = 1;
  fixture.AddEntry({.thread = worker,
                    .user_stack = take,
                    .runqueue_ns = 250'000,
                    .intervals = 2,
                    .reason = model::Reason::kPreempted,
                    .task_state = model::kTaskRunning,
                    .at_ns = 2000 * kMs});
  fixture.AddEntry({.thread = kthread, .kernel_stack = lock, .task_state = model::kTaskIdle});

  p.intervals = {{"blocked", 25, 9077 * kMs}, {"runnable", 3, 500}, {"preempted", 2, 250'000}};
  p.rejected = {{"min_off_cpu", 4, 4000}};
  p.notes = {{"hidden_switches", 2, 0}};
  p.lost_events = 12;
  p.loss_spans_dropped = 1;
  p.losses = {{0, 3000 * kMs, 3001 * kMs, 12}, {1, 0, 5, 0}};
  p.warnings = {"kernel addresses are hidden"};
  return fixture.Build();
}

}  // namespace offcpu::testing
