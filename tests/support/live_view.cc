// SPDX-License-Identifier: MIT
#include "tests/support/live_view.h"

#include <array>
#include <map>
#include <optional>
#include <ostream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "source/perf/perf_source.h"

namespace offcpu::live {
namespace {

using model::Reason;
using profile::Entry;
using profile::Profile;
using profile::Thread;

// perf reads CLOCK_MONOTONIC without waiting for an update of it in progress, which may move it by
// some nanoseconds against clock_gettime.
constexpr Nanos kClockSkew = 10'000;
// Between the tracepoint's clock read and the scheduler's own: call chains are walked in between.
constexpr Nanos kStateBound = 10'000;

// Whether this kernel hides an idle task from tracepoints (KF 0), by the probe that the recorder
// makes at its start: then it hides a few other tasks, too. Asked until no CPU was too busy to
// tell.
bool ProbeHiddenTasks() {
  source::Request request;
  request.read_exec_start = [](model::Tid) { return std::optional<Nanos>(); };
  for (int attempt = 0; attempt < 50; ++attempt) {
    const auto source = source::perf::PerfSource::Open(request);
    if (!source) return false;
    const auto undecided = (*source)->undecided_cpus();
    if ((*source)->covered_cpus().size() > undecided.size()) return true;
    if (undecided.empty()) return false;
  }
  return false;
}

bool MachineHidesTasks() {
  static const bool hides = ProbeHiddenTasks();
  return hides;
}

std::string Describe(const Thread& t) {
  return fmt::format(
      "thread {} of {}: life {}..{} on_cpu {} sleeping {} runqueue {} unsplit {} runnable {} "
      "preempted {} newborn {} unknown {} ns, switch-outs {} + {}, switch-ins {}",
      t.tid, t.pid, t.first_ns, t.last_ns, t.on_cpu_ns, t.sleeping_ns, t.runqueue_ns, t.unsplit_ns,
      t.runnable_ns, t.preempted_ns, t.newborn_ns, t.unknown_ns, t.voluntary_switches,
      t.involuntary_switches, t.switch_ins);
}

std::string Describe(const Counters& c) {
  return fmt::format("the kernel: on_cpu {} waiting {} ns, switch-outs {} + {}, switch-ins {}",
                     c.on_cpu, c.waiting, c.voluntary, c.involuntary, c.switch_ins);
}

Nanos SumOf(const Thread& t) {
  return t.on_cpu_ns + t.blocked_ns() + t.runnable_ns + t.preempted_ns + t.newborn_ns +
         t.unknown_ns;
}

uint64_t NoteCount(const Profile& profile, std::string_view name) {
  for (const profile::Counter& note : profile.notes) {
    if (note.name == name) return note.count;
  }
  return 0;
}

void ExpectRowsConserved(const Profile& profile) {
  for (size_t i = 1; i < profile.threads.size(); ++i) {
    const Thread& thread = profile.threads[i];
    EXPECT_EQ(SumOf(thread), thread.last_ns - thread.first_ns) << Describe(thread);
    EXPECT_LE(thread.last_ns, profile.window_ns) << Describe(thread);
  }
}

// Entries of a thread never hold more than its account, and all of it when nothing was rejected.
void ExpectEntriesWithinAccounts(const Profile& profile) {
  using PerReason = std::array<Nanos, model::kReasonCount>;
  std::vector<PerReason> sums(profile.threads.size());
  for (const Entry& entry : profile.entries) {
    sums[entry.thread][static_cast<size_t>(entry.reason)] += entry.observed_ns;
    EXPECT_EQ(entry.sleeping_ns + entry.runqueue_ns + entry.unsplit_ns, entry.observed_ns);
    EXPECT_LE(entry.max_ns, profile.window_ns);
  }
  for (size_t i = 1; i < profile.threads.size(); ++i) {
    const Thread& thread = profile.threads[i];
    const PerReason account = {0, thread.blocked_ns(), thread.runnable_ns, thread.preempted_ns};
    for (size_t reason = 0; reason < account.size(); ++reason) {
      if (profile.rejected.empty()) {
        EXPECT_EQ(sums[i][reason], account[reason]) << Describe(thread) << " reason " << reason;
      } else {
        EXPECT_LE(sums[i][reason], account[reason]) << Describe(thread) << " reason " << reason;
      }
    }
  }
}

// Over all threads: seen = kept + rejected, in number and in time.
void ExpectSeenIsKeptOrRejected(const Profile& profile) {
  uint64_t seen = 0;
  Nanos seen_ns = 0;
  for (const profile::Counter& counter : profile.intervals) {
    seen += counter.count;
    seen_ns += counter.ns;
  }
  uint64_t accounted = 0;
  Nanos accounted_ns = 0;
  for (const profile::Counter& counter : profile.rejected) {
    accounted += counter.count;
    accounted_ns += counter.ns;
  }
  for (const Entry& entry : profile.entries) {
    accounted += entry.intervals;
    accounted_ns += entry.observed_ns;
  }
  EXPECT_EQ(seen, accounted);
  EXPECT_EQ(seen_ns, accounted_ns);
  Nanos off_cpu = 0;
  for (const Thread& t : profile.threads)
    off_cpu += t.blocked_ns() + t.runnable_ns + t.preempted_ns;
  EXPECT_EQ(seen_ns, off_cpu);
}

}  // namespace

Thread AccountOf(const Profile& profile, pid_t tid) {
  Thread sum;
  bool found = false;
  for (const Thread& row : profile.threads) {
    if (row.tid != tid || tid == 0) continue;
    const Nanos first = found ? sum.first_ns : row.first_ns;
    Thread next = row;
    next.first_ns = first;
    next.on_cpu_ns += sum.on_cpu_ns;
    next.sleeping_ns += sum.sleeping_ns;
    next.runqueue_ns += sum.runqueue_ns;
    next.unsplit_ns += sum.unsplit_ns;
    next.runnable_ns += sum.runnable_ns;
    next.preempted_ns += sum.preempted_ns;
    next.newborn_ns += sum.newborn_ns;
    next.unknown_ns += sum.unknown_ns;
    next.voluntary_switches += sum.voluntary_switches;
    next.involuntary_switches += sum.involuntary_switches;
    next.switch_ins += sum.switch_ins;
    sum = next;
    found = true;
  }
  EXPECT_TRUE(found) << "the profile has no thread " << tid;
  return sum;
}

std::string PlainName(std::string_view name) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  std::string plain(name);
  for (size_t at = plain.find(kAnonymous); at != std::string::npos; at = plain.find(kAnonymous)) {
    plain.erase(at, kAnonymous.size());
  }
  plain.resize(std::min(plain.size(), plain.find_first_of("(<")));
  const size_t scope = plain.rfind("::");
  if (scope != std::string::npos) plain.erase(0, scope + 2);
  const size_t type = plain.rfind(' ');  // "void f<int>(int)" has its type in front
  return type == std::string::npos ? plain : plain.substr(type + 1);
}

std::vector<std::string> NamesOf(const Profile& profile, profile::NodeId stack) {
  std::vector<std::string> names;
  for (const profile::FrameId frame : FramesOf(profile, stack)) {
    const profile::Frame& found = profile.frames[frame];
    if (found.inlined) continue;
    const std::string_view name = profile.String(found.name);
    names.push_back(found.kind == profile::FrameKind::kUser ? PlainName(name) : std::string(name));
  }
  return names;
}

Found Find(const Profile& profile, pid_t tid, const std::string& function, Reason reason) {
  Found found;
  for (const Entry& entry : profile.entries) {
    if (profile.threads[entry.thread].tid != tid || entry.reason != reason) continue;
    bool has = function.empty();
    for (const std::string& name : NamesOf(profile, entry.user_stack))
      has = has || name == function;
    if (!has) continue;
    found.entries.push_back(&entry);
    found.intervals += entry.intervals;
    found.left_open += entry.left_open;
    found.right_open += entry.right_open;
    found.observed += entry.observed_ns;
    found.max = std::max(found.max, entry.max_ns);
  }
  return found;
}

void ExpectLeaves(const Profile& profile, const Found& found, const std::string& leaf,
                  std::string_view kernel_part, uint32_t task_states) {
  EXPECT_FALSE(found.entries.empty());
  for (const Entry* entry : found.entries) {
    const std::vector<std::string> user = NamesOf(profile, entry->user_stack);
    const std::vector<std::string> kernel = NamesOf(profile, entry->kernel_stack);
    ASSERT_FALSE(user.empty() || kernel.empty());
    EXPECT_EQ(user.back(), leaf);
    EXPECT_NE(kernel.back(), "__schedule");
    EXPECT_NE(kernel.back(), "schedule");
    bool has = false;
    for (const std::string& name : kernel) has = has || name.find(kernel_part) != std::string::npos;
    EXPECT_TRUE(has) << "no kernel function with " << kernel_part << " in "
                     << ::testing::PrintToString(kernel);
    EXPECT_NE(entry->task_state, 0U);
    EXPECT_EQ(entry->task_state & ~task_states, 0U);
  }
}

void ExpectNoLoss(const Profile& profile) {
  EXPECT_EQ(profile.lost_events, 0U);
  EXPECT_TRUE(profile.losses.empty());
}

void ExpectConserved(const Profile& profile) {
  ExpectRowsConserved(profile);
  ExpectEntriesWithinAccounts(profile);
  ExpectSeenIsKeptOrRejected(profile);
}

uint64_t HiddenIntervals(const Profile& profile) {
  return MachineHidesTasks() ? NoteCount(profile, "hidden_intervals") : 0;
}

void ExpectIntervals(const Profile& profile, const Found& found, uint64_t wanted) {
  EXPECT_LE(found.intervals, wanted);
  EXPECT_GE(found.intervals + HiddenIntervals(profile), wanted);
}

void ExpectKernelAgrees(const Profile& profile, const Thread& account, const Counters& growth,
                        const Allowed& allowed) {
  SCOPED_TRACE(Describe(account) + "\n" + Describe(growth));
  EXPECT_EQ(account.voluntary_switches + account.involuntary_switches,
            growth.voluntary + growth.involuntary);
  if (allowed.signals) {
    EXPECT_LE(account.voluntary_switches, growth.voluntary);
  } else {
    EXPECT_EQ(account.voluntary_switches, growth.voluntary);
    EXPECT_EQ(account.involuntary_switches, growth.involuntary);
  }
  // The kernel does not count the return of a thread that was preempted on its way into a sleep: in
  // sched_info_depart() it is not running (6.1-rt).
  const uint64_t uncounted = IsRealTimeKernel() ? growth.involuntary : 0;
  EXPECT_LE(account.switch_ins, growth.switch_ins + uncounted);
  EXPECT_GE(account.switch_ins + HiddenIntervals(profile), growth.switch_ins);
  if (HiddenIntervals(profile) == 0) {
    EXPECT_EQ(account.unknown_ns, 0U);
  }
  const uint64_t switches = growth.voluntary + growth.involuntary + 1;
  const Nanos bound = switches * kStateBound + allowed.left_out;
  EXPECT_LE(growth.on_cpu, account.on_cpu_ns + account.unknown_ns + bound);
  EXPECT_GE(growth.on_cpu + bound, account.on_cpu_ns);
  // Where no wake-up was seen, the part that waited for a CPU is not known: all or nothing.
  const Nanos waiting =
      account.runqueue_ns + account.runnable_ns + account.preempted_ns + account.newborn_ns;
  EXPECT_LE(growth.waiting, waiting + account.unsplit_ns + account.unknown_ns + bound);
  EXPECT_GE(growth.waiting + bound, waiting);
}

void ExpectMeasured(const Profile& profile, pid_t tid, const Found& found, Nanos measured) {
  const Thread account = AccountOf(profile, tid);
  EXPECT_LE(found.observed, measured + kClockSkew);
  EXPECT_LE(measured, found.observed + account.on_cpu_ns + account.runnable_ns +
                          account.preempted_ns + account.unknown_ns + kClockSkew);
}

}  // namespace offcpu::live
