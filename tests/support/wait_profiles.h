// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "profile/profile.h"
#include "tests/support/profile_fixture.h"

// Profiles for tests of the commands over a profile.
namespace offcpu::testing {

constexpr Nanos kMicrosecond = 1000;
constexpr Nanos kMillisecond = 1'000'000;
inline profile::NodeId SleepStack(ProfileFixture& fixture) {
  return fixture.AddStack({KernelFrame("entry_SYSCALL_64_after_hwframe"),
                           KernelFrame("do_syscall_64"), KernelFrame("__x64_sys_clock_nanosleep"),
                           KernelFrame("hrtimer_nanosleep"), KernelFrame("do_nanosleep"),
                           KernelFrame("schedule"), KernelFrame("__schedule")});
}

inline profile::NodeId FutexStack(ProfileFixture& fixture) {
  return fixture.AddStack({KernelFrame("entry_SYSCALL_64_after_hwframe"),
                           KernelFrame("do_syscall_64"), KernelFrame("__x64_sys_futex"),
                           KernelFrame("futex_wait"), KernelFrame("futex_wait_queue"),
                           KernelFrame("schedule"), KernelFrame("__schedule")});
}

// A service as it may look in life: sleeps, a lock, a disk read, a poll loop, a busy thread and a
// kernel thread; all three reasons; 10 s, nothing lost.
inline profile::Profile WaitsProfile() {
  ProfileFixture fixture;
  profile::Profile& p = fixture.profile();
  p.origin.host = "host";
  p.origin.kernel_release = "6.1.0";
  p.origin.machine = "x86_64";
  p.origin.command = "offcpu record -p 4711 --reasons blocked,runnable,preempted -d 10";
  p.origin.target = "pid 4711";
  p.origin.reasons = {"blocked", "runnable", "preempted"};
  p.origin.cpus = 2;
  const auto main = fixture.AddThread(4711, 4711, "service", "service");
  const auto worker = fixture.AddThread(4711, 4712, "worker-12", "service");
  const auto busy = fixture.AddThread(4711, 4713, "busy", "service");
  const auto kthread = fixture.AddThread(15, 15, "kworker/0:1", "kworker/0:1");
  p.threads[kthread].kernel_thread = true;

  const auto sleep = SleepStack(fixture);
  const auto futex = FutexStack(fixture);
  const auto poll =
      fixture.AddStack({KernelFrame("entry_SYSCALL_64_after_hwframe"), KernelFrame("do_syscall_64"),
                        KernelFrame("ep_poll"), KernelFrame("schedule_hrtimeout_range_clock"),
                        KernelFrame("schedule"), KernelFrame("__schedule")});
  const auto disk = fixture.AddStack(
      {KernelFrame("entry_SYSCALL_64_after_hwframe"), KernelFrame("do_syscall_64"),
       KernelFrame("ext4_file_read_iter", "[ext4]"), KernelFrame("folio_wait_bit_common"),
       KernelFrame("io_schedule"), KernelFrame("schedule"), KernelFrame("__schedule")});
  const auto tick = fixture.AddStack({KernelFrame("asm_sysvec_apic_timer_interrupt"),
                                      KernelFrame("irqentry_exit_to_user_mode"),
                                      KernelFrame("schedule"), KernelFrame("__schedule")});
  const auto kwork = fixture.AddStack({KernelFrame("ret_from_fork"), KernelFrame("kthread"),
                                       KernelFrame("worker_thread"), KernelFrame("schedule"),
                                       KernelFrame("__schedule")});
  const auto in_main =
      fixture.AddStack({UserFrame("_start", "service"), UserFrame("main", "service"),
                        UserFrame("clock_nanosleep", "libc.so.6")});
  const auto in_loop = fixture.AddStack(
      {UserFrame("_start", "service"), UserFrame("main", "service"),
       UserFrame("Loop::run(int)", "service"), UserFrame("epoll_wait", "libc.so.6")});
  const auto in_lock = fixture.AddStack(
      {UserFrame("clone3", "libc.so.6"), UserFrame("start_thread", "libc.so.6"),
       UserFrame("Worker::take()", "service"), UserFrame("pthread_mutex_lock", "libc.so.6"),
       UserFrame("__lll_lock_wait", "libc.so.6")});
  const auto in_read =
      fixture.AddStack({UserFrame("clone3", "libc.so.6"), UserFrame("start_thread", "libc.so.6"),
                        UserFrame("Worker::load()", "service"), UserFrame("read", "libc.so.6")});
  const auto in_spin =
      fixture.AddStack({UserFrame("clone3", "libc.so.6"), UserFrame("start_thread", "libc.so.6"),
                        UserFrame("spin", "service")});

  fixture.AddEntry({.thread = main,
                    .user_stack = in_loop,
                    .kernel_stack = poll,
                    .sleeping_ns = 7000 * kMillisecond,
                    .runqueue_ns = 9 * kMillisecond,
                    .intervals = 700});
  fixture.AddEntry({.thread = main,
                    .user_stack = in_main,
                    .kernel_stack = sleep,
                    .sleeping_ns = 1000 * kMillisecond,
                    .runqueue_ns = 100 * kMicrosecond,
                    .intervals = 10});
  fixture.AddEntry({.thread = worker,
                    .user_stack = in_lock,
                    .kernel_stack = futex,
                    .sleeping_ns = 4200 * kMillisecond,
                    .runqueue_ns = 300 * kMillisecond,
                    .unsplit_ns = 1 * kMillisecond,
                    .intervals = 42});
  fixture.AddEntry({.thread = worker,
                    .user_stack = in_read,
                    .kernel_stack = disk,
                    .sleeping_ns = 250 * kMillisecond,
                    .runqueue_ns = 2 * kMillisecond,
                    .intervals = 90,
                    .task_state = model::kTaskUninterruptible});
  fixture.AddEntry({.thread = busy,
                    .user_stack = in_spin,
                    .kernel_stack = tick,
                    .runqueue_ns = 3000 * kMillisecond,
                    .intervals = 750,
                    .reason = model::Reason::kRunnable,
                    .task_state = model::kTaskRunning});
  fixture.AddEntry({.thread = busy,
                    .user_stack = in_spin,
                    .kernel_stack = futex,
                    .runqueue_ns = 400,
                    .intervals = 2,
                    .reason = model::Reason::kPreempted,
                    .task_state = model::kTaskRunning});
  fixture.AddEntry({.thread = kthread,
                    .kernel_stack = kwork,
                    .sleeping_ns = 9900 * kMillisecond,
                    .intervals = 99,
                    .task_state = model::kTaskIdle});
  p.intervals = {{"blocked", 941, 22'662'100'000},
                 {"runnable", 750, 3000 * kMillisecond},
                 {"preempted", 2, 400}};
  return fixture.Build();
}

// Three entries of 3000, 2000 and 500 ns: poll (blocked, both stacks), park (blocked, no user
// stack), spin (runnable).
inline profile::Profile FiltersProfile() {
  ProfileFixture fixture(1 * kMillisecond);
  fixture.profile().origin.reasons = {"blocked", "runnable"};
  const auto loop = fixture.AddThread(1, 1, "loop-1", "app");
  const auto worker = fixture.AddThread(1, 2, "worker", "app");
  const auto poll = fixture.AddStack({KernelFrame("do_syscall_64+0x10"),
                                      KernelFrame("ep_poll+0x20"), KernelFrame("schedule+0x2a")});
  const auto park =
      fixture.AddStack({KernelFrame("do_syscall_64+0x10"), KernelFrame("futex_wait+0x8")});
  const auto leave = fixture.AddStack({KernelFrame("schedule+0x2a")});
  const auto epoll =
      fixture.AddStack({UserFrame("Thread::run"), UserFrame("epoll_wait+0x5", "libc.so.6")});
  const auto spin =
      fixture.AddStack({UserFrame("Thread::run"), UserFrame("sched_yield+0x3", "libc.so.6")});
  fixture.AddEntry({.thread = loop,
                    .user_stack = epoll,
                    .kernel_stack = poll,
                    .sleeping_ns = 3000,
                    .intervals = 3});
  fixture.AddEntry({.thread = worker, .kernel_stack = park, .sleeping_ns = 2000, .intervals = 2});
  fixture.AddEntry({.thread = worker,
                    .user_stack = spin,
                    .kernel_stack = leave,
                    .runqueue_ns = 500,
                    .reason = model::Reason::kRunnable,
                    .task_state = model::kTaskRunning});
  return fixture.Build();
}

// Names that break careless writers: ';', line breaks, control bytes, blanks, cut UTF-8, and
// weights of 1 ns, 1 h and 2^53 + 1 ns.
inline profile::Profile NamesProfile() {
  constexpr Nanos kHour = 3600 * kNanosPerSecond;
  constexpr Nanos kBig = (Nanos{1} << 53) + 1;
  ProfileFixture fixture(kBig + 2 * kHour);
  const auto kernel = fixture.AddStack({KernelFrame("schedule")});
  struct Row {
    const char* comm;
    std::vector<const char*> names;
    Nanos ns;
  };
  const std::vector<Row> rows{
      {"   ", {"main", "Lcom/x/Y;::run", "leaf"}, 1},
      {"k/2", {"main", "two\nlines\r", "leaf"}, kHour},
      {"k:2", {"main", "HDMI polling ta"}, kBig},
      {"[2]", {"main", "a b", "c"}, 499},
      {"rs:main Q:Reg", {"main", "a", "c"}, 1500},
      {"fourteen bytes\xc3", {"main", "\x1b[31mred", "\xff\xfe"}, 2499},
      {"\xf0\x9f\x98\x80", {"main", "\xf0\x9f\x98\x80"}, 10},
      {"\xee\x80\x80", {"main", "\xee\x80\x80"}, 10},
      {"", {"main", "", "say \"hi\", you"}, 10},
  };
  model::Tid tid = 10;
  for (const Row& row : rows) {
    const auto thread = fixture.AddThread(10, tid++, row.comm, "proc; one");
    std::vector<model::SymbolFrame> frames;
    for (const char* name : row.names) frames.push_back(UserFrame(name, "a,b.so"));
    fixture.AddEntry({.thread = thread,
                      .user_stack = fixture.AddStack(frames),
                      .kernel_stack = kernel,
                      .sleeping_ns = row.ns});
  }
  return fixture.Build();
}

// An idle process of 1 s: threads, but no entry.
inline profile::Profile EmptyProfile() {
  ProfileFixture fixture(kNanosPerSecond);
  fixture.AddThread(7, 7, "idle", "idle");
  return fixture.Build();
}

// 13,000 entries with some 1,000 different stacks of 20 to 50 frames.
inline profile::Profile LargeProfile() {
  constexpr int kStacks = 1000;
  constexpr int kThreads = 13;
  ProfileFixture fixture(100 * kNanosPerSecond);
  std::vector<profile::ThreadId> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.push_back(fixture.AddThread(1, 1 + i, "worker-" + std::to_string(i), "large"));
  }
  const profile::NodeId kernel[] = {SleepStack(fixture), FutexStack(fixture)};
  for (int i = 0; i < kStacks; ++i) {
    std::vector<model::SymbolFrame> frames;
    const int depth = 14 + i % 30;
    for (int level = 0; level < depth; ++level) {
      // Stacks part from each other at all levels.
      const int branch = level < 4 ? 0 : i % (level * 7) / 3 + (level == depth - 1 ? i : 0);
      frames.push_back(UserFrame("application::Component" + std::to_string(level) + "::handle" +
                                 std::to_string(branch) + "(Request const&)"));
    }
    const auto user = fixture.AddStack(frames);
    for (int t = 0; t < kThreads; ++t) {
      fixture.AddEntry({.thread = threads[t],
                        .user_stack = user,
                        .kernel_stack = kernel[(i + t) % 2],
                        .sleeping_ns = 1000 + static_cast<Nanos>(i) * 17,
                        .intervals = 1 + static_cast<uint64_t>(i % 5),
                        .at_ns = static_cast<Nanos>(i) * kMillisecond});
    }
  }
  return fixture.Build();
}

}  // namespace offcpu::testing
