// SPDX-License-Identifier: MIT
// Threads that begin, end, change or sleep through the recording.
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/support/live.h"
#include "tests/support/live_view.h"

namespace offcpu::live {
namespace {

using LifeTest = LiveCpuTest;

// Waits until the process is dead and has left the CPU for good; it is not reaped.
void AwaitDead(pid_t pid) {
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
}

struct Sum {
  uint64_t voluntary = 0;
  uint64_t involuntary = 0;
};

Sum SwitchesOf(const profile::Profile& profile, pid_t pid) {
  Sum sum;
  for (const profile::Thread& thread : profile.threads) {
    if (thread.pid != pid) continue;
    sum.voluntary += thread.voluntary_switches;
    sum.involuntary += thread.involuntary_switches;
  }
  return sum;
}

// The kernel adds the counters of ended threads up for the process, without the very last
// switch-out of each but the leader: that one comes after the sum.
TEST_P(LifeTest, FiveHundredShortThreadsAreAllThereWithEachOfTheirSwitches) {
  constexpr uint64_t kThreads = 500;
  Program program = OnCpu("pool", {std::to_string(kThreads), "1000000", "10"});
  OFFCPU_AWAIT_READY(program);
  const pid_t pid = program.pid();
  const Counters before = ReadAsleep(pid, {pid, SYS_read});
  Recorder recorder = StartRecorder({"-p", std::to_string(pid)});
  ASSERT_TRUE(recorder.AwaitStart());
  program.Go();
  ASSERT_TRUE(program.Await("done"));
  program.child().CloseInput();
  AwaitDead(pid);
  ReadAsleep(pid, {pid, -1});
  const ChildEnd end = program.Finish();
  EXPECT_EQ(recorder.Wait(), 0) << recorder.Output();
  const profile::Profile profile = recorder.Load();
  ExpectNoLoss(profile);
  ExpectConserved(profile);

  const Sum sum = SwitchesOf(profile, pid);
  const uint64_t known_voluntary = static_cast<uint64_t>(end.usage.ru_nvcsw) - before.voluntary;
  const uint64_t known_involuntary =
      static_cast<uint64_t>(end.usage.ru_nivcsw) - before.involuntary;
  EXPECT_GE(sum.voluntary, known_voluntary + kThreads);
  // With PREEMPT_RT threads may also sleep for locks after the sum was made.
  if (!IsRealTimeKernel()) {
    EXPECT_EQ(sum.voluntary, known_voluntary + kThreads);
  }
  EXPECT_GE(sum.involuntary, known_involuntary);  // some are preempted after the sum was made

  ASSERT_EQ(program.Said("lived").size(), kThreads);
  ASSERT_GT(profile.threads.size(), kThreads);
  for (const Arguments& fields : program.Said("lived")) {
    const pid_t tid = std::stoi(fields.at(0));
    const profile::Thread account = AccountOf(profile, tid);
    EXPECT_GT(account.first_ns, 0U);
    EXPECT_LT(account.last_ns, profile.window_ns);
    EXPECT_GE(account.voluntary_switches, std::stoull(fields.at(1)) + 1);
    EXPECT_GE(account.involuntary_switches, std::stoull(fields.at(2)));
    ExpectIntervals(profile, Find(profile, tid, "WaitInPool"), 1);
  }
}

TEST_P(LifeTest, ExecKeepsTheThreadAndChangesItsName) {
  Program program = OnCpu("exec", {"leader", "5000000"});
  OFFCPU_AWAIT_READY(program);
  const Session session = Record(program);
  ExpectLaws(session);
  const pid_t pid = program.pid();
  const Found before = Find(session.profile, pid, "WaitBeforeExec");
  const Found after = Find(session.profile, pid, "WaitAfterExec");
  ASSERT_EQ(before.intervals, 1U);
  ASSERT_EQ(after.intervals, 1U);
  EXPECT_EQ(session.profile.String(before.entries[0]->comm), "before-exec");
  EXPECT_EQ(session.profile.String(after.entries[0]->comm), "exe");
  EXPECT_EQ(session.profile.String(after.entries[0]->process), "exe");
  ExpectMeasured(session.profile, pid, before, program.Waits("before").second);
  ExpectMeasured(session.profile, pid, after, program.Waits("after").second);
}

// The thread that calls execve takes its counters along and its leader's id over.
TEST_P(LifeTest, ExecByAThreadThatIsNotTheLeaderLosesNoSwitch) {
  Program program = OnCpu("exec", {"thread", "5000000"});
  OFFCPU_AWAIT_READY(program);
  const pid_t pid = program.pid();
  const pid_t subject = program.tid("subject");
  const Counters before = ReadAsleep(pid, {subject, SYS_read});
  ReadAsleep(pid, {pid, SYS_futex});
  const Nanos left_out = LeftOutTime();
  Arguments arguments = AllReasons();
  arguments.insert(arguments.end(), {"-p", std::to_string(pid)});
  Recorder recorder = StartRecorder(arguments);
  ASSERT_TRUE(recorder.AwaitStart());
  program.Go();
  ASSERT_TRUE(program.Await("done"));
  const Counters growth = ReadAsleep(pid, {pid, SYS_read}) - before;
  EXPECT_EQ(recorder.Stop(), 0) << recorder.Output();
  const profile::Profile profile = recorder.Load();
  ExpectNoLoss(profile);
  ExpectConserved(profile);

  // Rows: the leader up to its end, the subject up to its exec, and from then on under the leader's
  // id.
  profile::Profile lives = profile;
  size_t leader_rows = 0;
  for (profile::Thread& thread : lives.threads) {
    if (thread.tid == pid && thread.last_ns < profile.window_ns) {
      ++leader_rows;
      EXPECT_GE(thread.voluntary_switches, 1U) << "the leader's last switch-out";
      thread.tid = -1;
    } else if (thread.tid == pid || thread.tid == subject) {
      thread.tid = subject;
    }
  }
  EXPECT_EQ(leader_rows, 1U);
  ExpectKernelAgrees(profile, AccountOf(lives, subject), growth,
                     {.left_out = LeftOutSince(left_out)});
  ExpectIntervals(profile, Find(profile, subject, "WaitBeforeExec"), 1);
  ExpectIntervals(profile, Find(profile, pid, "WaitAfterExec"), 1);
}

TEST_P(LifeTest, TheLastSwitchOutOfAnEndedProcessCounts) {
  Program program = OnCpu("zombie", {"3", "5000000"});
  OFFCPU_AWAIT_READY(program);
  Arguments arguments = AllReasons();
  arguments.push_back("--follow");
  const Session session = Record(program, arguments);
  ExpectLaws(session);
  const pid_t child = static_cast<pid_t>(program.SaidNumber("child"));
  const Counters all = ReadAsleep(child, {child, -1});
  const profile::Thread account = AccountOf(session.profile, child);
  ExpectKernelAgrees(session.profile, account, all, {.left_out = session.left_out});
  EXPECT_EQ(account.pid, child);
  EXPECT_LT(account.last_ns, session.profile.window_ns);
  ExpectIntervals(session.profile, Find(session.profile, child, "WaitInChild"), 3);
  EXPECT_EQ(Find(session.profile, child, "").right_open, 0U) << "no wait after the end";
}

TEST_P(LifeTest, WithoutFollowAChildProcessIsNotRecorded) {
  Program program = OnCpu("zombie", {"1", "1000000"});
  OFFCPU_AWAIT_READY(program);
  const Session session = Record(program);
  ExpectLaws(session);
  for (const profile::Thread& thread : session.profile.threads) {
    EXPECT_NE(thread.tid, static_cast<pid_t>(program.SaidNumber("child")));
  }
}

TEST_P(LifeTest, UnderASignalStormTheSumOfSwitchesIsExact) {
  for (const char* wait : {"futex", "nanosleep"}) {
    SCOPED_TRACE(wait);
    Program program = OnCpu("signals", {wait, "3000"});
    OFFCPU_AWAIT_READY(program);
    const Session session = Record(program);
    ExpectLaws(session, /*signals=*/true);
    EXPECT_GT(session.growth.at(program.tid("target")).voluntary, 0U);
  }
}

TEST_P(LifeTest, ANewNameCountsFromItsChangeOn) {
  Program program = OnCpu("rename", {"10000000"});
  OFFCPU_AWAIT_READY(program);
  const Session session = Record(program);
  ExpectLaws(session);
  std::map<std::string, Nanos> by_name;
  for (const profile::Entry* entry :
       Find(session.profile, program.pid(), "WaitUnderName").entries) {
    by_name[std::string(session.profile.String(entry->comm))] += entry->observed_ns;
  }
  ASSERT_EQ(by_name.size(), 2U);
  EXPECT_LE(by_name["old name"], program.Waits("old").second);
  EXPECT_LE(by_name["new;name"], program.Waits("new").second);
  EXPECT_GT(by_name["new;name"], 15'000'000U);  // of 20 ms, less the way into the sleep
  EXPECT_EQ(session.profile.String(AccountOf(session.profile, program.pid()).comm), "new;name");
}

TEST_P(LifeTest, AThreadThatSleepsAllTheTimeHasTheWholeWindow) {
  const Nanos before_start = MonotonicNow();
  Program program = OnCpu("nanosleep", {});
  OFFCPU_AWAIT_READY(program);
  const pid_t pid = program.pid();
  ReadAsleep(pid, {pid, SYS_read});
  const Nanos asleep = MonotonicNow();
  const Nanos left_out = LeftOutTime();
  Recorder recorder = StartRecorder({"-p", std::to_string(pid), "-d", "200ms"});
  EXPECT_EQ(recorder.Wait(), 0) << recorder.Output();
  const profile::Profile profile = recorder.Load();
  ExpectConserved(profile);
  const profile::Thread account = AccountOf(profile, pid);
  EXPECT_EQ(account.first_ns, 0U);
  EXPECT_EQ(account.last_ns, profile.window_ns);
  EXPECT_EQ(account.blocked_ns(), profile.window_ns);
  EXPECT_EQ(account.voluntary_switches, 0U);
  ASSERT_EQ(profile.entries.size(), 1U);
  const profile::Entry& entry = profile.entries[0];
  EXPECT_EQ(entry.intervals, 1U);
  EXPECT_EQ(entry.left_open, 1U);
  EXPECT_EQ(entry.right_open, 1U);
  EXPECT_EQ(entry.observed_ns, profile.window_ns);
  EXPECT_EQ(entry.task_state, model::kTaskInterruptible);
  const std::vector<std::string> kernel = NamesOf(profile, entry.kernel_stack);
  bool in_pipe = false;
  for (const std::string& name : kernel) in_pipe = in_pipe || name.find("pipe_read") != name.npos;
  EXPECT_TRUE(in_pipe) << ::testing::PrintToString(kernel);
  // The start is known from the scheduler's clock, set right by what was observed on that CPU.
  if (entry.before_ns == 0) GTEST_SKIP() << "nothing was observed to set that clock right by";
  const Nanos bound = 20'000'000 + LeftOutSince(left_out);
  EXPECT_GE(entry.before_ns + bound, profile.origin.start_monotonic_ns - asleep);
  EXPECT_LE(entry.before_ns, profile.origin.start_monotonic_ns - before_start + bound);
}

INSTANTIATE_TEST_SUITE_P(FirstAndLastCpu, LifeTest, ::testing::Values(0, 1));

}  // namespace
}  // namespace offcpu::live
