// SPDX-License-Identifier: MIT
// Threads that the kernel tracks from their first switch on.
#include <gtest/gtest.h>

#include "model/tracked.h"
#include "sched/tracker.h"
#include "tests/support/sched_script.h"

namespace offcpu::sched {
namespace {

constexpr model::Tid kA = 7;

class TrackedTest : public ::testing::Test {
 protected:
  void Seed(uint32_t task_state) {
    sched::Seed seed;
    seed.tid = kA;
    seed.row = script.RowOf(kA);
    seed.task_state = task_state;
    seed.cpu = 0;
    seed.read_time = 1;
    script.tracker.Follow(seed);
  }
  // On CPU for 20, asleep for 30; from 50 on.
  static model::TrackedAccount SomeAccount() {
    model::TrackedAccount tracked;
    tracked.pid = tracked.tid = kA;
    tracked.from = 50;
    tracked.to = 100;
    tracked.account.on_cpu = 20;
    tracked.account.blocked.sleeping = 30;
    tracked.account.voluntary_switches = 2;
    tracked.account.switch_ins = 3;
    return tracked;
  }
  model::HandOver At50(bool ran) {
    return {50, kA, kA, 0, ran ? model::HandOver::kRan : model::HandOver::kWasOff, false};
  }

  test::SchedScript script;
};

TEST_F(TrackedTest, ASleeperIsLeftOpenUpToItsHandOver) {
  Seed(model::kTaskInterruptible);
  script.tracker.OnHandOver(At50(/*ran=*/false));
  ASSERT_EQ(script.intervals.size(), 1U);
  EXPECT_TRUE(script.intervals[0].left_open);
  EXPECT_EQ(script.intervals[0].duration(), 50U);
  EXPECT_TRUE(script.tracker.OnAccount(SomeAccount()));
  script.At(100).Ends();
  const Account& account = script.AccountOf(kA);
  EXPECT_EQ(account.on_cpu, 20U);
  EXPECT_EQ(account.blocked.unsplit, 50U);
  EXPECT_EQ(account.blocked.sleeping, 30U);
  EXPECT_EQ(account.voluntary_switches, 2U);
  EXPECT_EQ(account.switch_ins, 3U) << "the kernel counts that of the hand-over";
  EXPECT_EQ(test::SchedScript::Sum(account), 100U);
  EXPECT_EQ(account.last - account.first, 100U);
}

TEST_F(TrackedTest, AWakeUpBeforeTheHandOverSplitsTheWait) {
  Seed(model::kTaskInterruptible);
  model::HandOver event = At50(false);
  event.wakeup = 40;
  script.tracker.OnHandOver(event);
  ASSERT_EQ(script.intervals.size(), 1U);
  EXPECT_EQ(script.intervals[0].wakeup, 40U);
  EXPECT_EQ(script.AccountOf(kA).blocked.sleeping, 40U);
  EXPECT_EQ(script.AccountOf(kA).blocked.runqueue, 10U);
}

TEST_F(TrackedTest, WhoseFirstSwitchIsOutRanUpToIt) {
  Seed(model::kTaskInterruptible);  // read a moment before it woke
  script.tracker.OnHandOver(At50(/*ran=*/true));
  EXPECT_TRUE(script.intervals.empty());
  EXPECT_EQ(script.AccountOf(kA).on_cpu, 50U);
}

TEST_F(TrackedTest, WhoCameUnseenWasSomewhereUnknown) {
  Seed(model::kTaskInterruptible);
  script.tracker.OnHandOver({50, kA, kA, 0, model::HandOver::kUnknown, false});
  EXPECT_TRUE(script.intervals.empty());
  EXPECT_EQ(script.AccountOf(kA).unknown, 50U);
}

TEST_F(TrackedTest, ANewbornWaitsUpToItsHandOver) {
  script.At(30).IsBorn(kA);
  script.tracker.OnHandOver(At50(false));
  EXPECT_EQ(script.AccountOf(kA).newborn, 20U);
  script.tracker.OnAccount(SomeAccount());
  script.At(100).Ends();
  EXPECT_EQ(test::SchedScript::Sum(script.AccountOf(kA)), 70U);
}

TEST_F(TrackedTest, IntervalsGoOnWithTheThreadsRowAndStacks) {
  Seed(model::kTaskRunning);
  script.tracker.OnHandOver(At50(true));
  model::TrackedInterval tracked;
  tracked.pid = tracked.tid = kA;
  tracked.interval.reason = model::Reason::kBlocked;
  tracked.interval.start = 60;
  tracked.interval.end = 90;
  tracked.chain.present = true;
  script.tracker.OnTrackedInterval(tracked);
  ASSERT_EQ(script.intervals.size(), 1U);
  EXPECT_EQ(script.intervals[0].thread, script.RowOf(kA));
  EXPECT_NE(script.intervals[0].kernel_stack, 0U);
}

TEST_F(TrackedTest, TimeBetweenAHandOverThatWasLostAndTheStartIsUnknown) {
  Seed(model::kTaskInterruptible);
  script.tracker.OnAccount(SomeAccount());
  script.At(100).Ends();
  const Account& account = script.AccountOf(kA);
  EXPECT_EQ(account.unknown, 50U);
  EXPECT_EQ(test::SchedScript::Sum(account), 100U);
  EXPECT_TRUE(script.intervals.empty());
}

TEST_F(TrackedTest, WithoutItsAccountAThreadsTimeIsUnknown) {
  Seed(model::kTaskRunning);
  script.tracker.OnHandOver(At50(true));
  script.At(100).Ends();
  EXPECT_EQ(script.AccountOf(kA).unknown, 50U);
}

TEST_F(TrackedTest, LostIntervalsAreCountedWithTheirTime) {
  Seed(model::kTaskRunning);
  script.tracker.OnHandOver(At50(true));
  model::TrackedAccount tracked = SomeAccount();
  tracked.lost_intervals = 2;
  tracked.lost_time = 9;
  script.tracker.OnAccount(tracked);
  EXPECT_EQ(script.tracker.counters().lost_intervals, 2U);
  EXPECT_EQ(script.tracker.counters().lost_time, 9U);
}

TEST_F(TrackedTest, AThreadThatEndedLeavesItsIdToAnother) {
  Seed(model::kTaskRunning);
  script.tracker.OnHandOver(At50(true));
  model::TrackedAccount tracked = SomeAccount();
  tracked.ended = true;
  script.tracker.OnAccount(tracked);
  EXPECT_FALSE(script.tracker.Follows(kA));
}

TEST_F(TrackedTest, ALeaderWhoseIdWasTakenOverBeginsAtTheHandOver) {
  Seed(model::kTaskRunning);
  const model::ThreadRow before = script.RowOf(kA);
  model::HandOver event = At50(true);
  event.fresh = true;
  script.tracker.OnHandOver(event);
  EXPECT_NE(script.RowOf(kA), before);
  const Account& account = script.AccountOf(kA);
  EXPECT_EQ(account.first, 50U);
  EXPECT_EQ(account.on_cpu, 0U);
}

TEST_F(TrackedTest, WhatIsNotFollowedIsNotCounted) {
  script.ignored[kA] = true;
  script.tracker.OnHandOver(At50(true));
  EXPECT_FALSE(script.tracker.OnAccount(SomeAccount()));
}

}  // namespace
}  // namespace offcpu::sched
