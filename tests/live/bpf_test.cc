// SPDX-License-Identifier: MIT
// The bpf back end: the same laws as perf's, and interval by interval what perf saw at the same
// time.
#include <algorithm>
#include <csignal>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "source/bpf/bpf_source.h"
#include "tests/support/live.h"
#include "tests/support/live_counters.h"
#include "tests/support/live_view.h"

namespace offcpu::live {
namespace {

constexpr Nanos kTolerance = 20'000;
// One recorder's interrupted clock read against the other's.
constexpr Nanos kInterrupted = 1'000'000;
// Each recorder reads its clock before or after the other's work at the same switch.
constexpr Nanos kObserver = 1'000;
constexpr uint32_t kSleep = model::kTaskInterruptible;

Arguments WithBpf(Arguments arguments) {
  arguments.insert(arguments.end(), {"--backend", "bpf"});
  return arguments;
}

void SkipWithoutBpf() {
  for (const source::Check& check : source::bpf::CheckBpf()) {
    if (check.status == source::Check::Status::kMissing && check.needed) {
      GTEST_SKIP() << check.name << ": " << check.found;
    }
  }
}

class BpfTest : public LiveCpuTest {
 protected:
  void SetUp() override {
    LiveCpuTest::SetUp();
    if (!IsSkipped()) SkipWithoutBpf();
  }
  Session RecordWithBpf(Program& program, const Arguments& options = AllReasons()) {
    Session session = Record(program, WithBpf(options));
    EXPECT_EQ(session.profile.origin.backend, "bpf");
    return session;
  }
};

// The user stack ends in `leaf`, and the kernel's has a function named like `kernel_part`.
void ExpectPlace(const profile::Profile& profile, const Found& found, const std::string& leaf,
                 const std::string& kernel_part) {
  for (const profile::Entry* entry : found.entries) {
    const auto user = NamesOf(profile, entry->user_stack);
    const auto kernel = NamesOf(profile, entry->kernel_stack);
    ASSERT_FALSE(user.empty());
    EXPECT_EQ(user.back(), leaf);
    EXPECT_TRUE(std::any_of(kernel.begin(), kernel.end(), [&](const std::string& name) {
      return name.find(kernel_part) != std::string::npos;
    })) << ::testing::PrintToString(kernel);
    EXPECT_EQ(entry->task_state, kSleep);
  }
}

TEST_P(BpfTest, EachNanosleepIsOneBlockedIntervalOfItsLength) {
  Program program = OnCpu("nanosleep", {"20", "5000000"});
  OFFCPU_AWAIT_READY(program);
  const Session session = RecordWithBpf(program);
  ExpectLaws(session);
  const Found found = Find(session.profile, program.pid(), "WaitInNanosleep");
  ExpectIntervals(session.profile, found, 20);
  EXPECT_EQ(found.left_open + found.right_open, 0U);
  ExpectPlace(session.profile, found, "WaitInNanosleep", "nanosleep");
  ExpectMeasured(session.profile, program.pid(), found, program.Waits("nanosleep").second);
}

TEST_P(BpfTest, WaitingForALockIsOneBlockedIntervalEachTime) {
  Program program = OnCpu("futex", {"20", "2000000"});
  OFFCPU_AWAIT_READY(program);
  const Session session = RecordWithBpf(program);
  ExpectLaws(session);
  const pid_t waiter = program.tid("waiter");
  const Found found = Find(session.profile, waiter, "WaitForLock");
  ExpectIntervals(session.profile, found, 20);
  ExpectPlace(session.profile, found, "WaitForLock", "futex_wait");
  ExpectMeasured(session.profile, waiter, found, program.Waits("lock").second);
}

TEST_P(BpfTest, PipePingPongIsCountedToTheLastSwitch) {
  Program program = OnCpu("pipe", {"1000"});
  OFFCPU_AWAIT_READY(program);
  const Session session = RecordWithBpf(program);
  ExpectLaws(session);
  for (const char* name : {"ping", "pong"}) {
    const pid_t tid = program.tid(name);
    const Found found = Find(session.profile, tid, "WaitInPipe");
    EXPECT_GT(found.intervals, 0U);
    if (IsRealTimeKernel()) continue;  // the pipe's lock is slept for as well, in state D
    ExpectPlace(session.profile, found, "WaitInPipe", "pipe_read");
    ExpectMeasured(session.profile, tid, found, program.Waits(name).second);
  }
}

TEST_P(BpfTest, ShortWaitsAreCountedAsRejectedAndLeaveTheAccountsWhole) {
  Program program = OnCpu("pipe", {"1000"});
  OFFCPU_AWAIT_READY(program);
  const Session session =
      RecordWithBpf(program, {"--reasons", "blocked,runnable,preempted", "--min-off-cpu", "1s"});
  ExpectLaws(session);
  for (const char* name : {"ping", "pong"}) {
    EXPECT_EQ(Find(session.profile, program.tid(name), "WaitInPipe").intervals, 0U);
    EXPECT_GT(AccountOf(session.profile, program.tid(name)).voluntary_switches, 0U);
  }
}

TEST_P(BpfTest, GivingWayIsRunnableAndNotBlocked) {
  Program program = OnCpu("yield", {"1000"});
  OFFCPU_AWAIT_READY(program);
  const Session session = RecordWithBpf(program);
  ExpectLaws(session);
  for (const char* name : {"polite", "courteous"}) {
    const pid_t tid = program.tid(name);
    EXPECT_GT(Find(session.profile, tid, "GiveWay", model::Reason::kRunnable).intervals, 0U);
    EXPECT_EQ(Find(session.profile, tid, "GiveWay").intervals, 0U);
  }
}

TEST_P(BpfTest, SpinnersBornInTheRecordingWaitForEachOther) {
  Program program = OnCpu("contention", {"3", "50000000", "born"});
  OFFCPU_AWAIT_READY(program);
  const Session session = RecordWithBpf(program);
  ExpectLaws(session);
  Nanos newborn = 0;
  for (const Arguments& fields : program.Said("thread")) {
    const profile::Thread account = AccountOf(session.profile, std::stoi(fields.at(1)));
    EXPECT_GT(account.runnable_ns + account.preempted_ns, 0U);
    newborn += account.newborn_ns;
  }
  EXPECT_GT(newborn, 0U);
}

INSTANTIATE_TEST_SUITE_P(FirstAndLastCpu, BpfTest, ::testing::Values(0, 1));

class BpfParityTest : public LiveTest {
 protected:
  void SetUp() override {
    LiveTest::SetUp();
    if (!IsSkipped()) SkipWithoutBpf();
  }
};

// Waits of which each has a user stack of its own: an entry is one interval.
using Waits = std::map<std::string, const profile::Entry*>;
Waits SingleWaits(const profile::Profile& profile, pid_t tid) {
  Waits waits;
  std::set<std::string> twice;
  for (const profile::Entry* entry : Find(profile, tid, "WaitInPipe").entries) {
    std::string key;
    for (const profile::FrameId frame : FramesOf(profile, entry->user_stack)) {
      key.append(profile.String(profile.frames[frame].name)).push_back(';');
    }
    if (!waits.emplace(key, entry).second) twice.insert(key);
  }
  for (const std::string& key : twice) waits.erase(key);
  return waits;
}

Nanos Apart(const profile::Entry& a, const profile::Entry& b) {
  return std::max(a.observed_ns, b.observed_ns) - std::min(a.observed_ns, b.observed_ns);
}

// How the same waits were measured by two recorders.
struct Distance {
  size_t interrupted = 0;  // further apart than the tolerance
  Nanos furthest = 0;

  bool Acceptable(size_t waits) const {
    return interrupted <= waits / 100 && furthest <= kInterrupted;
  }
};

Distance DistanceOf(const Waits& theirs, const Waits& ours) {
  Distance distance;
  for (const auto& [stack, entry] : theirs) {
    const auto found = ours.find(stack);
    if (found == ours.end()) continue;
    const Nanos apart = Apart(*entry, *found->second);
    if (apart > kTolerance) ++distance.interrupted;
    distance.furthest = std::max(distance.furthest, apart);
  }
  return distance;
}

class BpfBesidePerfTest : public BpfParityTest {
 protected:
  // The program's work as both see it.
  void RecordBoth(Program& program) {
    const auto with = [&](const char* backend) {
      Arguments arguments = AllReasons();
      arguments.insert(arguments.end(),
                       {"-p", std::to_string(program.pid()), "--backend", backend});
      return arguments;
    };
    const Nanos left_out = LeftOutTime();
    Recorder perf = StartRecorder(with("perf"));
    ASSERT_TRUE(perf.AwaitStart());
    Recorder bpf = StartRecorder(with("bpf"));
    ASSERT_TRUE(bpf.AwaitStart());
    program.Go();
    ASSERT_TRUE(program.Await("done"));
    ReadAll(program);
    EXPECT_EQ(bpf.Stop(), 0) << bpf.Output();
    EXPECT_EQ(perf.Stop(), 0) << perf.Output();
    of_perf_ = perf.Load();
    of_bpf_ = bpf.Load();
    taken_away_ = LeftOutTime() > left_out;
  }

  // The host took a CPU away, and the two read their clocks before and after.
  bool Disturbed(const Program& program) const {
    if (!taken_away_) return false;
    for (const char* name : {"ping", "pong"}) {
      const Waits theirs = SingleWaits(of_perf_, program.tid(name));
      const Waits ours = SingleWaits(of_bpf_, program.tid(name));
      if (!DistanceOf(theirs, ours).Acceptable(theirs.size())) return true;
    }
    return false;
  }

  void Compare(pid_t tid) const {
    const Waits theirs = SingleWaits(of_perf_, tid);
    const Waits ours = SingleWaits(of_bpf_, tid);
    EXPECT_EQ(ours.size(), theirs.size());
    EXPECT_GT(ours.size(), 100U);
    for (const auto& [stack, entry] : theirs) {
      const auto found = ours.find(stack);
      ASSERT_NE(found, ours.end()) << stack;
      EXPECT_EQ(found->second->reason, entry->reason);
      EXPECT_EQ(found->second->task_state, entry->task_state);
      EXPECT_EQ(found->second->intervals, 1U);
    }
    const Distance distance = DistanceOf(theirs, ours);
    EXPECT_LE(distance.furthest, kInterrupted);
    EXPECT_LE(distance.interrupted, theirs.size() / 100);
    CompareSums(tid);
  }

  // B8. The two windows differ at their ends, where the thread sleeps.
  void CompareSums(pid_t tid) const {
    const profile::Thread a = AccountOf(of_perf_, tid);
    const profile::Thread b = AccountOf(of_bpf_, tid);
    EXPECT_EQ(a.voluntary_switches, b.voluntary_switches);
    EXPECT_EQ(a.involuntary_switches, b.involuntary_switches);
    const Nanos observed = (a.voluntary_switches + a.involuntary_switches) * kObserver;
    const auto near = [&](Nanos one, Nanos other) {
      return std::max(one, other) - std::min(one, other) <= one / 100 + observed;
    };
    const auto seen = [&](const profile::Profile& profile) {
      return Find(profile, tid, "WaitInPipe").observed;
    };
    EXPECT_TRUE(near(seen(of_perf_), seen(of_bpf_))) << seen(of_perf_) << " " << seen(of_bpf_);
    EXPECT_TRUE(near(a.runnable_ns, b.runnable_ns)) << a.runnable_ns << " " << b.runnable_ns;
    EXPECT_TRUE(near(a.preempted_ns, b.preempted_ns)) << a.preempted_ns << " " << b.preempted_ns;
  }

  profile::Profile of_perf_;
  profile::Profile of_bpf_;
  bool taken_away_ = false;
};

// A comparison that the host disturbed is made again; what it has to satisfy stays the same.
TEST_F(BpfBesidePerfTest, PerfAndBpfSeeTheSameIntervals) {
  constexpr int kAttempts = 5;
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    Program program("many_stacks", {"--cpu", std::to_string(Cpus().front()), "pipe", "2000"});
    OFFCPU_AWAIT_READY(program);
    ASSERT_NO_FATAL_FAILURE(RecordBoth(program));
    if (attempt < kAttempts && Disturbed(program)) continue;
    ExpectNoLoss(of_perf_);
    ExpectNoLoss(of_bpf_);
    ExpectConserved(of_bpf_);
    for (const char* name : {"ping", "pong"}) Compare(program.tid(name));
    return;
  }
}

TEST_F(BpfParityTest, ACommandIsFollowedFromItsExecToItsEnd) {
  Recorder recorder = StartRecorder(WithBpf({"--", ProgramPath("nanosleep"), "5", "2000000"}));
  EXPECT_EQ(recorder.Wait(), 0) << recorder.Output();
  const profile::Profile profile = recorder.Load();
  ExpectNoLoss(profile);
  ExpectConserved(profile);
  const auto subject = std::find_if(profile.threads.begin(), profile.threads.end(),
                                    [](const profile::Thread& thread) { return thread.tid != 0; });
  ASSERT_NE(subject, profile.threads.end());
  EXPECT_EQ(subject->first_ns, 0U);
  EXPECT_GT(subject->on_cpu_ns, 0U);
  // Five sleeps of 2 ms, of each of which a little has passed when the thread leaves its CPU.
  EXPECT_GE(subject->sleeping_ns + subject->unsplit_ns + subject->unknown_ns, 9'000'000U);
  const Found found = Find(profile, subject->tid, "WaitInNanosleep");
  EXPECT_GE(found.intervals + HiddenIntervals(profile), 5U);
}

// The recorder with a small ring stands still for a while, so that it certainly loses intervals.
TEST_F(BpfParityTest, LostIntervalsAreCountedAndTheirTimeIsUnknownButSwitchesAreComplete) {
  Program program("many_stacks",
                  {"--cpu", std::to_string(Cpus().front()), "pipe", "100", "4000", "100"});
  OFFCPU_AWAIT_READY(program);
  const std::map<pid_t, Counters> before = ReadAll(program);
  Arguments arguments = WithBpf(AllReasons());
  arguments.insert(arguments.end(), {"--buffer-size", "8K", "-p", std::to_string(program.pid())});
  Recorder recorder = StartRecorder(arguments);
  ASSERT_TRUE(recorder.AwaitStart());
  program.Go();
  ASSERT_TRUE(program.Await("phase"));
  recorder.child().Signal(SIGSTOP);
  program.Go();
  ASSERT_TRUE(program.Await("phase"));
  recorder.child().Signal(SIGCONT);
  program.Go();
  ASSERT_TRUE(program.Await("done"));
  const std::map<pid_t, Counters> after = ReadAll(program);
  EXPECT_EQ(recorder.Stop(), 2) << recorder.Output();
  const profile::Profile profile = recorder.Load();
  EXPECT_GT(profile.lost_events, 0U);
  EXPECT_FALSE(profile.losses.empty());
  ExpectConserved(profile);
  for (const char* name : {"ping", "pong"}) {
    const pid_t tid = program.tid(name);
    const profile::Thread account = AccountOf(profile, tid);
    const Counters growth = after.at(tid) - before.at(tid);
    EXPECT_EQ(account.voluntary_switches, growth.voluntary);
    EXPECT_EQ(account.involuntary_switches, growth.involuntary);
    EXPECT_GT(account.unknown_ns, 0U);
    EXPECT_LT(Find(profile, tid, "WaitInPipe").intervals, growth.voluntary);
  }
}

// Its time up to there stays with its old id; the leader's row begins anew.
TEST_F(BpfParityTest, AThreadThatCallsExecveBecomesTheLeaderAndNoTimeIsLost) {
  Program program("exec", {"thread", "2000000"});
  OFFCPU_AWAIT_READY(program);
  Arguments arguments = WithBpf(AllReasons());
  arguments.insert(arguments.end(), {"-p", std::to_string(program.pid())});
  Recorder recorder = StartRecorder(arguments);
  ASSERT_TRUE(recorder.AwaitStart());
  program.Go();
  ASSERT_TRUE(program.Await("done"));
  program.Finish();
  EXPECT_EQ(recorder.Wait(), 0) << recorder.Output();
  const profile::Profile profile = recorder.Load();
  ExpectNoLoss(profile);
  ExpectConserved(profile);
  const pid_t subject = program.tid("subject");
  EXPECT_GE(Find(profile, subject, "WaitBeforeExec").intervals + HiddenIntervals(profile), 1U);
  EXPECT_GE(Find(profile, program.pid(), "WaitAfterExec").intervals + HiddenIntervals(profile), 1U);
  if (HiddenIntervals(profile) == 0) {
    EXPECT_EQ(AccountOf(profile, subject).unknown_ns, 0U);
    EXPECT_EQ(AccountOf(profile, program.pid()).unknown_ns, 0U);
  }
}

}  // namespace
}  // namespace offcpu::live
