// SPDX-License-Identifier: MIT
// What is recorded and kept: targets, reasons, lengths, states, time parts.
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <set>

#include "base/files.h"
#include "tests/support/live.h"
#include "tests/support/live_view.h"

namespace offcpu::live {
namespace {

using SelectionTest = LiveTest;
using model::Reason;

// A border between two buckets of the histogram of lengths.
constexpr Nanos kBorder = Nanos{1} << 24;
constexpr uint32_t kBorderBucket = 24;
const char* const kBorderText = "16777216ns";

// Many short sleeps and five that are certainly longer than the border.
Arguments ShortAndLongSleeps() { return {"20", "1000000", "5", "40000000"}; }

uint64_t RejectedCount(const profile::Profile& profile) {
  uint64_t count = 0;
  for (const profile::Counter& counter : profile.rejected) count += counter.count;
  return count;
}

TEST_F(SelectionTest, ShorterIntervalsAreRejectedAndCounted) {
  Program program("nanosleep", ShortAndLongSleeps());
  OFFCPU_AWAIT_READY(program);
  const Session session = Record(program, {"--min-off-cpu", kBorderText});
  ExpectLaws(session);
  for (const profile::Entry& entry : session.profile.entries) {
    for (const auto& [bucket, count] : entry.lengths) EXPECT_GE(bucket, kBorderBucket);
  }
  const Found found = Find(session.profile, program.pid(), "WaitInNanosleep");
  EXPECT_GE(found.intervals + HiddenIntervals(session.profile), 5U);
  EXPECT_GT(RejectedCount(session.profile), 0U);
}

TEST_F(SelectionTest, LongerIntervalsAreRejectedAndCounted) {
  Program program("nanosleep", ShortAndLongSleeps());
  OFFCPU_AWAIT_READY(program);
  const Session session = Record(program, {"--max-off-cpu", kBorderText});
  ExpectLaws(session);
  for (const profile::Entry& entry : session.profile.entries) EXPECT_LT(entry.max_ns, kBorder);
  EXPECT_LE(Find(session.profile, program.pid(), "WaitInNanosleep").intervals, 20U);
  EXPECT_GE(RejectedCount(session.profile) + HiddenIntervals(session.profile), 5U);
}

TEST_F(SelectionTest, OnlyTheWantedStatesAreKept) {
  for (const bool wanted : {true, false}) {
    Program program("nanosleep", {"5", "2000000"});
    OFFCPU_AWAIT_READY(program);
    const Session session = Record(program, {"--state", wanted ? "S" : "D"});
    ExpectLaws(session);
    const Found found = Find(session.profile, program.pid(), "WaitInNanosleep");
    ExpectIntervals(session.profile, found, wanted ? 5 : 0);
    if (!wanted) {
      EXPECT_GE(RejectedCount(session.profile) + HiddenIntervals(session.profile), 5U);
    }
  }
}

TEST_F(SelectionTest, WithoutTheTimeSplitBlockedTimeIsNotSplit) {
  Program program("nanosleep", {"5", "2000000"});
  OFFCPU_AWAIT_READY(program);
  const Session session = Record(program, {"--time-split", "off"});
  ExpectLaws(session);
  const profile::Thread account = AccountOf(session.profile, program.pid());
  EXPECT_EQ(account.unsplit_ns, account.blocked_ns());
  EXPECT_GT(account.unsplit_ns, 0U);
}

TEST_F(SelectionTest, AThreadAsTargetIsRecordedAlone) {
  Program program("futex", {"5", "2000000"});
  OFFCPU_AWAIT_READY(program);
  const pid_t waiter = program.tid("waiter");
  const auto before = ReadAll(program);
  Recorder recorder = StartRecorder({"-t", std::to_string(waiter)});
  ASSERT_TRUE(recorder.AwaitStart());
  program.Go();
  ASSERT_TRUE(program.Await("done"));
  const Counters growth = ReadAll(program).at(waiter) - before.at(waiter);
  EXPECT_EQ(recorder.Stop(), 0) << recorder.Output();
  const profile::Profile profile = recorder.Load();
  ExpectConserved(profile);
  ASSERT_EQ(profile.threads.size(), 2U) << "a placeholder and the thread";
  EXPECT_EQ(AccountOf(profile, waiter).pid, program.pid());
  EXPECT_EQ(AccountOf(profile, waiter).voluntary_switches, growth.voluntary);
  ExpectIntervals(profile, Find(profile, waiter, "WaitForLock"), 5);
}

TEST_F(SelectionTest, SystemWideFindsASleeperAndNeverTheRecorderItself) {
  Program program("nanosleep", {"20", "2000000"});
  OFFCPU_AWAIT_READY(program);
  const auto before = ReadAll(program);
  const pid_t pid = program.pid();
  const Nanos left_out = LeftOutTime();
  Recorder recorder({.arguments = {"-a"}, .file = NewFile(), .private_output = true});
  ASSERT_TRUE(recorder.AwaitStart());
  program.Go();
  ASSERT_TRUE(program.Await("done"));
  const Counters growth = ReadAll(program).at(pid) - before.at(pid);
  const pid_t recorder_pid = recorder.child().pid();
  EXPECT_EQ(recorder.Stop(), 0);
  const profile::Profile profile = recorder.Load();
  ExpectIntervals(profile, Find(profile, pid, "WaitInNanosleep"), 20);
  ExpectKernelAgrees(profile, AccountOf(profile, pid), growth,
                     {.left_out = LeftOutSince(left_out)});
  bool recorded_itself = false;
  bool idle_task = false;
  for (const profile::Thread& thread : profile.threads) {
    recorded_itself = recorded_itself || thread.pid == recorder_pid;
    idle_task = idle_task || (thread.tid == 0 && thread.merged_threads == 0 && thread.last_ns != 0);
  }
  EXPECT_FALSE(recorded_itself);
  EXPECT_FALSE(idle_task);
}

// Two recordings of the same work see the same switches at times that differ by the cost of the
// other's event.
void ExpectSameAccounts(const profile::Thread& a, const profile::Thread& b, Nanos left_out) {
  SCOPED_TRACE("thread " + std::to_string(a.tid));
  EXPECT_EQ(a.voluntary_switches, b.voluntary_switches);
  EXPECT_EQ(a.involuntary_switches, b.involuntary_switches);
  const Nanos bound = (a.voluntary_switches + a.involuntary_switches + 1) * Nanos{10'000} +
                      a.unknown_ns + b.unknown_ns + left_out;
  EXPECT_LE(a.on_cpu_ns, b.on_cpu_ns + bound);
  EXPECT_LE(b.on_cpu_ns, a.on_cpu_ns + bound);
  const Nanos waiting_a = a.runnable_ns + a.preempted_ns;
  const Nanos waiting_b = b.runnable_ns + b.preempted_ns;
  EXPECT_LE(waiting_a, waiting_b + bound);
  EXPECT_LE(waiting_b, waiting_a + bound);
}

TEST_F(SelectionTest, WhatIsKeptDoesNotChangeTheAccounts) {
  Program program("yield", {"500"});
  OFFCPU_AWAIT_READY(program);
  const Nanos left_out = LeftOutTime();
  const std::string pid = std::to_string(program.pid());
  Recorder some = StartRecorder({"-p", pid});
  ASSERT_TRUE(some.AwaitStart());
  const Session all = Record(program);
  EXPECT_EQ(some.Stop(), 0) << some.Output();
  ExpectLaws(all);
  const profile::Profile blocked_only = some.Load();
  ExpectNoLoss(blocked_only);
  ExpectConserved(blocked_only);
  for (const profile::Entry& entry : blocked_only.entries)
    EXPECT_EQ(entry.reason, Reason::kBlocked);
  EXPECT_GT(RejectedCount(blocked_only), 0U);
  for (const auto& [tid, growth] : all.growth) {
    ExpectSameAccounts(AccountOf(blocked_only, tid), AccountOf(all.profile, tid),
                       LeftOutSince(left_out));
  }
}

// A cgroup of the test's own in the second hierarchy; empty when there is none to make it in.
class TestCgroup {
 public:
  TestCgroup() {
    const auto mounts = ReadSmallFile("/proc/self/mounts");
    if (!mounts) return;
    for (std::string_view line : Split(*mounts, '\n')) {
      const auto fields = Split(line, ' ');
      if (fields.size() < 3 || fields[2] != "cgroup2") continue;
      const std::string path =
          std::string(fields[1]) + "/offcpu-test-" + std::to_string(::getpid());
      if (::mkdir(path.c_str(), 0755) == 0) path_ = path;
      return;
    }
  }
  ~TestCgroup() {
    if (!path_.empty()) ::rmdir(path_.c_str());
  }
  bool Take(pid_t pid) const {
    std::ofstream out(path_ + "/cgroup.procs");
    out << pid << std::flush;
    return out.good();
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST_F(SelectionTest, ACgroupsMembersAreRecordedAndNobodyElse) {
  const TestCgroup cgroup;
  if (cgroup.path().empty()) GTEST_SKIP() << "no cgroup of version 2 can be made here";
  Program stranger("nanosleep", {"5", "2000000"});
  OFFCPU_AWAIT_READY(stranger);
  Program member("nanosleep", {"5", "2000000"});
  OFFCPU_AWAIT_READY(member);
  if (!cgroup.Take(member.pid())) GTEST_SKIP() << "the cgroup takes no process";
  const auto before = ReadAll(member);
  Recorder recorder = StartRecorder({"--cgroup", cgroup.path()});
  ASSERT_TRUE(recorder.AwaitStart());
  stranger.Go();
  member.Go();
  ASSERT_TRUE(stranger.Await("done"));
  ASSERT_TRUE(member.Await("done"));
  const Counters growth = ReadAll(member).at(member.pid()) - before.at(member.pid());
  EXPECT_EQ(recorder.Stop(), 0) << recorder.Output();
  const profile::Profile profile = recorder.Load();
  ExpectConserved(profile);
  ExpectIntervals(profile, Find(profile, member.pid(), "WaitInNanosleep"), 5);
  EXPECT_EQ(AccountOf(profile, member.pid()).voluntary_switches, growth.voluntary);
  for (const profile::Thread& thread : profile.threads) {
    if (thread.tid != 0) {
      EXPECT_EQ(thread.pid, member.pid());
    }
  }
  member.Finish();
}

}  // namespace
}  // namespace offcpu::live
