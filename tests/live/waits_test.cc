// SPDX-License-Identifier: MIT
// Programs with known waits: reason, number, time, place, and the kernel's own counters.
#include "tests/support/live.h"
#include "tests/support/live_view.h"

namespace offcpu::live {
namespace {

constexpr uint32_t kSleep = model::kTaskInterruptible;
constexpr uint32_t kDisk = model::kTaskUninterruptible;

using WaitsTest = LiveCpuTest;

TEST_P(WaitsTest, EachNanosleepIsOneBlockedIntervalOfItsLength) {
  Program program = OnCpu("nanosleep", {"20", "5000000"});
  OFFCPU_AWAIT_READY(program);
  const Session session = Record(program);
  ExpectLaws(session);
  const Found found = Find(session.profile, program.pid(), "WaitInNanosleep");
  ExpectIntervals(session.profile, found, 20);
  EXPECT_EQ(found.left_open + found.right_open, 0U);
  ExpectLeaves(session.profile, found, "WaitInNanosleep", "nanosleep", kSleep);
  ExpectMeasured(session.profile, program.pid(), found, program.Waits("nanosleep").second);
}

TEST_P(WaitsTest, WaitingForALockIsOneBlockedIntervalEachTime) {
  Program program = OnCpu("futex", {"20", "2000000"});
  OFFCPU_AWAIT_READY(program);
  const Session session = Record(program);
  ExpectLaws(session);
  const pid_t waiter = program.tid("waiter");
  const Found found = Find(session.profile, waiter, "WaitForLock");
  ExpectIntervals(session.profile, found, 20);
  ExpectLeaves(session.profile, found, "WaitForLock", "futex_wait", kSleep);
  ExpectMeasured(session.profile, waiter, found, program.Waits("lock").second);
  const Found holding = Find(session.profile, program.tid("holder"), "HoldLock");
  ExpectIntervals(session.profile, holding, 20);
  // The lock was held for all of the sleep and given up after it, while the waiter waited.
  EXPECT_GE(found.observed + AccountOf(session.profile, waiter).unknown_ns, holding.observed);
}

TEST_P(WaitsTest, MutexAndConditionOfPthreadAreSeen) {
  Program program = OnCpu("futex", {"20", "2000000", "pthread"});
  OFFCPU_AWAIT_READY(program);
  const Session session = Record(program);
  ExpectLaws(session);
  const pid_t waiter = program.tid("waiter");
  const Found all = Find(session.profile, waiter, "");
  const Found holding = Find(session.profile, program.tid("holder"), "HoldLock");
  ExpectIntervals(session.profile, holding, 20);
  EXPECT_GE(all.intervals + HiddenIntervals(session.profile), 20U);
  EXPECT_GE(all.observed + AccountOf(session.profile, waiter).unknown_ns, holding.observed);
}

TEST_P(WaitsTest, PipePingPongIsCountedToTheLastSwitch) {
  Program program = OnCpu("pipe", {"1000"});
  OFFCPU_AWAIT_READY(program);
  const Session session = Record(program);
  ExpectLaws(session);
  for (const char* name : {"ping", "pong"}) {
    const pid_t tid = program.tid(name);
    const Found found = Find(session.profile, tid, "WaitInPipe");
    // With PREEMPT_RT the lock of a pipe is fought for, so that some waits are for that, in D, and
    // some are in the write.
    if (!IsRealTimeKernel()) {
      EXPECT_LE(found.intervals, 1000U);
      ExpectLeaves(session.profile, found, "WaitInPipe", "pipe_read", kSleep);
    }
    ExpectMeasured(session.profile, tid, found, program.Waits(name).second);
  }
}

TEST_P(WaitsTest, ReadsPastThePageCacheWaitUninterruptibly) {
  Program program = OnCpu("disk", {folder(), "50"});
  OFFCPU_AWAIT_READY(program);
  const Session session = Record(program);
  ExpectLaws(session);
  const Found found = Find(session.profile, program.pid(), "WaitForDisk");
  ExpectLeaves(session.profile, found, "WaitForDisk", "read", kDisk);
  ExpectMeasured(session.profile, program.pid(), found, program.Waits("disk").second);
}

TEST_P(WaitsTest, PagesFromTheDiskAreWaitedForInTheFunctionThatTouchesThem) {
  Program program = OnCpu("major_fault", {folder(), "50"});
  OFFCPU_AWAIT_READY(program);
  const Session session = Record(program);
  ExpectLaws(session);
  if (program.SaidNumber("majors") == 0)
    GTEST_SKIP() << "this file system keeps its pages in memory";
  const Found found = Find(session.profile, program.pid(), "WaitForPage");
  ExpectLeaves(session.profile, found, "WaitForPage", "fault", kDisk);
  ExpectMeasured(session.profile, program.pid(), found, program.Waits("fault").second);
}

TEST_P(WaitsTest, EachPageFilledInByAnotherThreadIsOneBlockedInterval) {
  Program program = OnCpu("userfault", {"10", "2000000"});
  OFFCPU_AWAIT_READY(program);
  const Session session = Record(program);
  ExpectLaws(session);
  const pid_t toucher = program.tid("toucher");
  const Found found = Find(session.profile, toucher, "WaitForPage");
  ExpectIntervals(session.profile, found, 10);
  ExpectLeaves(session.profile, found, "WaitForPage", "handle_userfault", kSleep | kDisk);
  ExpectMeasured(session.profile, toucher, found, program.Waits("fault").second);
}

// A thread that computes on a shared CPU waits for the others' turns, and is not blocked.
void ExpectSpinners(const Program& program, const Session& session, Nanos length) {
  ExpectLaws(session);
  uint64_t spinners = 0;
  for (const Arguments& fields : program.Said("thread")) {
    const pid_t tid = std::stoi(fields.at(1));
    const profile::Thread account = AccountOf(session.profile, tid);
    ++spinners;
    // The thread's clock and the events are read at slightly different moments of a switch.
    const Nanos bound = account.switch_ins * 10'000;
    EXPECT_GE(account.on_cpu_ns + account.unknown_ns + bound, length);
    EXPECT_GE(account.runqueue_ns + account.unsplit_ns + account.runnable_ns +
                  account.preempted_ns + account.unknown_ns,
              length / 2);
    const Found found = Find(session.profile, tid, "ComputeFor", model::Reason::kRunnable);
    EXPECT_GE(found.observed + account.preempted_ns, account.runnable_ns / 4);
    EXPECT_EQ(Find(session.profile, tid, "ComputeFor").intervals, 0U) << "blocked while computing";
  }
  EXPECT_EQ(spinners, 3U);
}

TEST_P(WaitsTest, SpinnersOnOneCpuWaitForEachOther) {
  Program program = OnCpu("contention", {"3", "100000000"});
  OFFCPU_AWAIT_READY(program);
  const Session session = Record(program);
  ExpectSpinners(program, session, 100'000'000);
}

TEST_P(WaitsTest, ThreadsBornInTheRecordingHaveTheirFirstWaitAsAnAccountOfItsOwn) {
  Program program = OnCpu("contention", {"3", "50000000", "born"});
  OFFCPU_AWAIT_READY(program);
  const Session session = Record(program);
  ExpectSpinners(program, session, 50'000'000);
  Nanos newborn = 0;
  for (const profile::Thread& thread : session.profile.threads) {
    if (thread.tid != program.pid() && thread.tid != 0) {
      EXPECT_GT(thread.first_ns, 0U);
    }
    newborn += thread.newborn_ns;
  }
  EXPECT_GT(newborn, 0U);
}

TEST_P(WaitsTest, GivingWayIsRunnableAndNotBlocked) {
  Program program = OnCpu("yield", {"1000"});
  OFFCPU_AWAIT_READY(program);
  const Session session = Record(program);
  ExpectLaws(session);
  for (const char* name : {"polite", "courteous"}) {
    const pid_t tid = program.tid(name);
    const Found found = Find(session.profile, tid, "GiveWay", model::Reason::kRunnable);
    EXPECT_GT(found.intervals, 0U);
    EXPECT_LE(found.intervals, session.growth.at(tid).involuntary);
    EXPECT_EQ(Find(session.profile, tid, "GiveWay").intervals, 0U);
    for (const profile::Entry* entry : found.entries) {
      EXPECT_EQ(entry->task_state, model::kTaskRunning);
      EXPECT_EQ(NamesOf(session.profile, entry->user_stack).back(), "GiveWay");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(FirstAndLastCpu, WaitsTest, ::testing::Values(0, 1));

}  // namespace
}  // namespace offcpu::live
