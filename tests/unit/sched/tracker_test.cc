// SPDX-License-Identifier: MIT
#include "sched/tracker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/support/sched_script.h"

namespace offcpu::sched {
namespace {

using model::Reason;
using test::SchedScript;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr model::Tid kA = 7;
constexpr model::Tid kB = 8;
constexpr model::Tid kC = 9;
constexpr model::Tid kIdle = SchedScript::kIdle;

/// tid 7  ====.....~~====     = on CPU   . blocked   ~ runnable
///        0   4    9 11       one interval: off 4, woken 9, on 11
TEST(TrackerTest, OneWaitIsOneIntervalCutByItsWakeup) {
  SchedScript script;
  script.At(0).Runs(kA).At(4).Sleeps(kA).At(9).Wakes(kA).At(11).Runs(kA).At(15).Ends();
  ASSERT_EQ(script.intervals.size(), 1U);
  const model::Interval& interval = script.intervals[0];
  EXPECT_EQ(interval.start, 4U);
  EXPECT_EQ(interval.wakeup, 9U);
  EXPECT_EQ(interval.end, 11U);
  EXPECT_EQ(interval.reason, Reason::kBlocked);
  EXPECT_FALSE(interval.left_open);
  EXPECT_FALSE(interval.right_open);
  const Account& account = script.AccountOf(kA);
  EXPECT_EQ(account.on_cpu, 8U);
  EXPECT_EQ(account.blocked.sleeping, 5U);
  EXPECT_EQ(account.blocked.runqueue, 2U);
  EXPECT_EQ(account.voluntary_switches, 1U);
  EXPECT_EQ(account.switch_ins, 2U);
}

// A1: the start is the thread's, not the CPU's.
TEST(TrackerTest, AThreadThatComesBackOnAnotherCpuHasItsOwnStart) {
  SchedScript script;
  script.OnCpu(0).At(100).Sleeps(kA).OnCpu(1).At(150).Runs(kA).At(200).Sleeps(kA);
  script.OnCpu(0).At(260).Runs(kA).At(300).Ends();
  EXPECT_THAT(script.Durations(kA), ElementsAre(50, 60));
}

// A2, A3.
TEST(TrackerTest, TimeGoingBackwardsMakesNoInterval) {
  SchedScript script;
  script.OnCpu(0).At(500).Runs(kA).At(1000).Sleeps(kA).OnCpu(1).At(990).Runs(kA);
  script.At(1100).Ends();
  EXPECT_THAT(script.Durations(kA), IsEmpty());
  EXPECT_EQ(script.tracker.counters().backward_times, 1U);
  EXPECT_EQ(SchedScript::Sum(script.AccountOf(kA)), 1100U);
}

// A4.
TEST(TrackerTest, AWaitThatHasNotEndedIsRightOpen) {
  SchedScript script;
  script.At(0).Runs(kA).At(10).Sleeps(kA).At(100).Ends();
  ASSERT_EQ(script.intervals.size(), 1U);
  EXPECT_TRUE(script.intervals[0].right_open);
  EXPECT_EQ(script.intervals[0].duration(), 90U);
  EXPECT_EQ(script.AccountOf(kA).blocked.sleeping, 90U);
}

// A4: the first switch-out of a thread that was running makes up no time.
TEST(TrackerTest, AFirstSwitchOutOnAQuietCpuMeansThatItRanSinceTheStart) {
  SchedScript script;
  script.At(100).Sleeps(kA).At(150).Ends();
  EXPECT_EQ(script.AccountOf(kA).on_cpu, 100U);
  EXPECT_EQ(script.AccountOf(kA).unknown, 0U);
}

TEST(TrackerTest, AThreadAsleepAtTheStartIsLeftOpenWithItsStateOfProc) {
  SchedScript script;
  script.tracker.Follow({kA, script.RowOf(kA), model::kTaskUninterruptible, 0, 5, 0});
  script.At(40).Wakes(kA).At(50).Runs(kA).At(60).Ends();
  ASSERT_EQ(script.intervals.size(), 1U);
  EXPECT_TRUE(script.intervals[0].left_open);
  EXPECT_EQ(script.intervals[0].task_state, model::kTaskUninterruptible);
  EXPECT_EQ(script.intervals[0].duration(), 50U);
  EXPECT_EQ(script.AccountOf(kA).blocked.sleeping, 40U);
  EXPECT_EQ(script.AccountOf(kA).blocked.runqueue, 10U);
}

TEST(TrackerTest, AThreadThatSleepsThroughItAllHasTheWholeWindow) {
  SchedScript script;
  script.tracker.Begin(1000);
  script.tracker.Follow({kA, script.RowOf(kA), model::kTaskInterruptible, 0, 1005, 0});
  script.At(3000).Ends();
  ASSERT_EQ(script.intervals.size(), 1U);
  EXPECT_TRUE(script.intervals[0].left_open);
  EXPECT_TRUE(script.intervals[0].right_open);
  EXPECT_EQ(script.intervals[0].duration(), 2000U);
}

TEST(TrackerTest, WhatAThreadWaitedForAtTheStartIsNotGuessed) {
  SchedScript script;
  script.tracker.Follow({kA, script.RowOf(kA), model::kTaskRunning, 0, 5, 0});
  script.OnCpu(0).At(10).Switch(kB, model::kTaskInterruptible, kIdle).At(50).Runs(kA);
  script.At(60).Ends();
  EXPECT_THAT(script.Durations(kA), IsEmpty());
  EXPECT_EQ(script.AccountOf(kA).unknown, 50U);
}

TEST(TrackerTest, AThreadAloneOnACpuWithoutEventsRanAllTheTime) {
  SchedScript script;
  script.tracker.Follow({kA, script.RowOf(kA), model::kTaskRunning, 3, 5, 0});
  script.At(100).Ends();
  EXPECT_EQ(script.AccountOf(kA).on_cpu, 100U);
}

TEST(TrackerTest, TwoThreadsOnACpuWithoutEventsAreUnknown) {
  SchedScript script;
  script.tracker.Follow({kA, script.RowOf(kA), model::kTaskRunning, 3, 5, 0});
  script.tracker.Follow({kB, script.RowOf(kB), model::kTaskRunning, 3, 5, 0});
  script.At(100).Ends();
  EXPECT_EQ(script.AccountOf(kA).unknown, 100U);
  EXPECT_EQ(script.AccountOf(kB).unknown, 100U);
}

TEST(TrackerTest, OnlyThePartInsideTheWindowCounts) {
  SchedScript script;
  script.tracker.Begin(100);
  script.At(50).Runs(kA).At(80).Sleeps(kA).At(130).Runs(kA).At(150).Ends();
  ASSERT_EQ(script.intervals.size(), 1U);
  EXPECT_EQ(script.intervals[0].start, 100U);
  EXPECT_EQ(script.intervals[0].since, 80U);
  EXPECT_TRUE(script.intervals[0].left_open);
  EXPECT_EQ(script.AccountOf(kA).voluntary_switches, 0U);
  EXPECT_EQ(script.AccountOf(kA).switch_ins, 1U);
}

// A8.
TEST(TrackerTest, TheIdleTaskNeverHasAnInterval) {
  SchedScript script;
  for (model::Cpu cpu = 0; cpu < 8; ++cpu) {
    script.OnCpu(cpu).At(100).Runs(kA + cpu).At(110).Sleeps(kA + cpu).At(120).Runs(kA + cpu);
  }
  script.At(200).Ends();
  for (const model::Interval& interval : script.intervals) {
    EXPECT_NE(script.TidOf(interval.thread), kIdle);
  }
}

// A12: with switch records on, a switch comes twice and counts once.
TEST(TrackerTest, ASwitchRecordBehindItsSwitchAddsNothing) {
  SchedScript script;
  script.At(0).Runs(kA).At(10).Sleeps(kA).At(20).Runs(kA).At(21).SwitchRecordIn(kA);
  script.At(30).Sleeps(kA).At(40).Ends();
  EXPECT_EQ(script.AccountOf(kA).switch_ins, 2U);
  EXPECT_THAT(script.Durations(kA), ElementsAre(10, 10));
}

// A13.
TEST(TrackerTest, BlockedEndsAtTheWakeup) {
  SchedScript script;
  script.At(0).Sleeps(kA).At(10).OnCpu(1).Wakes(kA).OnCpu(0).At(15).Runs(kA).At(15).Ends();
  EXPECT_EQ(script.AccountOf(kA).blocked.sleeping, 10U);
  EXPECT_EQ(script.AccountOf(kA).blocked.runqueue, 5U);
}

// A14.
TEST(TrackerTest, EveryStateOpensAnIntervalAndOnlyClassesIt) {
  struct Case {
    uint32_t state;
    bool preempted;
    Reason reason;
  };
  const Case cases[] = {
      {model::kTaskRunning, false, Reason::kRunnable},
      {model::kTaskRunning, true, Reason::kPreempted},
      {model::kTaskInterruptible, true, Reason::kPreempted},
      {model::kTaskInterruptible, false, Reason::kBlocked},
      {model::kTaskUninterruptible, false, Reason::kBlocked},
      {model::kTaskUninterruptible | model::kTaskKillable, false, Reason::kBlocked},
      {model::kTaskStopped, false, Reason::kBlocked},
      {model::kTaskTraced, false, Reason::kBlocked},
      {model::kTaskParked, false, Reason::kBlocked},
      {model::kTaskIdle, false, Reason::kBlocked},
      {model::kTaskUnknownState, false, Reason::kBlocked},
  };
  for (const Case& each : cases) {
    SchedScript script;
    script.At(0).Runs(kA).At(10).Switch(kA, each.state, kIdle, each.preempted).At(30).Runs(kA);
    script.At(40).Ends();
    ASSERT_EQ(script.intervals.size(), 1U) << each.state;
    EXPECT_EQ(script.intervals[0].reason, each.reason) << each.state;
    EXPECT_EQ(script.intervals[0].duration(), 20U) << each.state;
  }
}

// A14, E1: X and Z end the thread; its last switch-out counts, and nothing waits.
TEST(TrackerTest, ADeadThreadWaitsForNothing) {
  for (const uint32_t state : {uint32_t{model::kTaskDead}, uint32_t{model::kTaskZombie}}) {
    SchedScript script;
    script.At(0).Runs(kA).At(12).Switch(kA, state, kIdle).At(50).Ends();
    EXPECT_THAT(script.Durations(kA), IsEmpty());
    EXPECT_EQ(script.AccountOf(kA).last, 12U);
    EXPECT_EQ(script.AccountOf(kA).voluntary_switches, 1U);
    EXPECT_EQ(SchedScript::Sum(script.AccountOf(kA)), 12U);
  }
}

TEST(TrackerTest, AReusedTidBeginsANewLife) {
  SchedScript script;
  script.At(0).Runs(kA).At(5).Sleeps(kA);
  const model::ThreadRow first = script.RowOf(kA);
  script.At(20).IsBorn(kA).At(25).Runs(kA).At(30).Ends();
  EXPECT_THAT(script.Durations(kA), IsEmpty());
  EXPECT_EQ(script.tracker.accounts()[first].last, 20U);
  EXPECT_EQ(script.tracker.accounts()[first].unknown, 15U);
  EXPECT_EQ(script.AccountOf(kA).newborn, 5U);
  EXPECT_EQ(script.AccountOf(kA).on_cpu, 5U);
}

TEST(TrackerTest, ANewbornsFirstWaitIsAnAccountOfItsOwn) {
  SchedScript script;
  script.At(10).IsBorn(kA).At(11).Wakes(kA).At(14).Runs(kA).At(20).Ends();
  EXPECT_THAT(script.Durations(kA), IsEmpty());
  EXPECT_EQ(script.AccountOf(kA).first, 10U);
  EXPECT_EQ(script.AccountOf(kA).newborn, 4U);
  EXPECT_EQ(script.AccountOf(kA).on_cpu, 6U);
}

TEST(TrackerTest, AThreadSeenInProcAndThenInItsForkRecordIsOneThread) {
  SchedScript script;
  const model::ThreadRow row = script.RowOf(kA);
  script.tracker.Follow({kA, row, model::kTaskInterruptible, 0, 30, 0});
  script.tracker.OnBirth(kA, 0, 10);
  script.At(12).Runs(kA).At(20).Sleeps(kA).At(50).Ends();
  EXPECT_EQ(script.tracker.accounts()[row].first, 10U);
  EXPECT_EQ(SchedScript::Sum(script.tracker.accounts()[row]), 40U);
  EXPECT_EQ(script.tracker.accounts()[row].unknown, 0U);
}

// ---- D: losses ----

TEST(TrackerTest, LostEventsDropOpenIntervalsInsteadOfInventingThem) {
  SchedScript script;
  script.OnCpu(0).At(100).Sleeps(kA).OnCpu(1).At(200).Loses(/*until=*/300);
  script.OnCpu(0).At(3'600'000'000).Runs(kA).At(3'600'000'010).Ends();
  EXPECT_THAT(script.Durations(kA), IsEmpty());
  EXPECT_EQ(script.tracker.counters().lost_intervals, 1U);
  EXPECT_EQ(SchedScript::Sum(script.AccountOf(kA)), 3'600'000'010U);
}

TEST(TrackerTest, WhatBeginsAndEndsOutsideALossIsKept) {
  SchedScript script;
  script.OnCpu(0).At(0).Runs(kA).At(10).Sleeps(kA).At(20).Runs(kA);
  script.OnCpu(1).At(25).Loses(40);
  script.OnCpu(0).At(50).Sleeps(kA).At(70).Runs(kA).At(80).Ends();
  EXPECT_THAT(script.Durations(kA), ElementsAre(10, 20));
}

TEST(TrackerTest, WhatBeginsInsideALossIsDroppedToo) {
  SchedScript script;
  script.OnCpu(0).At(0).Runs(kA).OnCpu(1).At(5).Loses(40).OnCpu(0).At(10).Sleeps(kA);
  script.At(60).Runs(kA).At(80).Ends();
  EXPECT_THAT(script.Durations(kA), IsEmpty());
}

TEST(TrackerTest, AThreadOnTheCpuThatLostEventsMayHaveLeftIt) {
  SchedScript script;
  script.OnCpu(0).At(0).Runs(kA).OnCpu(1).At(0).Runs(kB);
  script.OnCpu(0).At(10).Loses(20).At(30).Sleeps(kA).OnCpu(1).At(30).Sleeps(kB).At(30).Ends();
  EXPECT_EQ(script.AccountOf(kA).unknown, 30U);
  EXPECT_EQ(script.AccountOf(kB).on_cpu, 30U);
  EXPECT_EQ(script.tracker.counters().hidden_switches, 0U) << "a loss is no hidden switch";
}

TEST(TrackerTest, WhileTheEndOfALossIsUnknownNothingIsTrusted) {
  SchedScript script;
  script.OnCpu(0).At(0).Runs(kA).OnCpu(1).At(5).Loses(model::kStillLosing, 0);
  script.OnCpu(0).At(10).Sleeps(kA).At(20).Runs(kA);
  script.OnCpu(1).At(5).Loses(22);
  script.OnCpu(0).At(30).Sleeps(kA).At(35).Runs(kA).At(40).Ends();
  EXPECT_THAT(script.Durations(kA), ElementsAre(5));
}

// ---- K1, KF 4: hidden switches ----

TEST(TrackerTest, ABreakOfContinuitySpoilsOnlyTheTwoThreadsInIt) {
  SchedScript script;
  script.OnCpu(1).At(0).Runs(kC).At(2).Sleeps(kC);
  script.OnCpu(0).At(0).Runs(kA).At(3).Sleeps(kB, kB);  // A left unseen, B came unseen
  script.OnCpu(1).At(9).Runs(kC).At(10).Ends();
  EXPECT_EQ(script.tracker.counters().hidden_switches, 1U);
  EXPECT_EQ(script.AccountOf(kA).unknown, 10U);
  EXPECT_EQ(script.AccountOf(kA).on_cpu, 0U);
  EXPECT_THAT(script.Durations(kC), ElementsAre(7));
}

TEST(TrackerTest, AHiddenReturnMakesNoInterval) {
  SchedScript script;
  script.At(0).Runs(kA).At(10).Sleeps(kA).At(50).Sleeps(kA).At(60).Runs(kA).At(70).Ends();
  EXPECT_THAT(script.Durations(kA), ElementsAre(10));
  EXPECT_EQ(script.AccountOf(kA).unknown, 40U);
  EXPECT_EQ(script.AccountOf(kA).voluntary_switches, 2U);
  EXPECT_EQ(script.tracker.counters().hidden_intervals, 1U);
  EXPECT_EQ(script.tracker.counters().hidden_time, 40U);
  EXPECT_THAT(script.tracker.TakeIdleBreaks(), ElementsAre(0));
}

// `100 c1 X(S)>i; [X in, switch record] 150; 170 c1 X(S)>i` gives 50.
TEST(TrackerTest, SwitchRecordsEndWaitsThatAHiddenIdleTaskEnded) {
  SchedScript script;
  script.OnCpu(1).At(100).Sleeps(kA).At(150).SwitchRecordIn(kA).At(170).Sleeps(kA).At(180).Ends();
  EXPECT_THAT(script.Durations(kA), ElementsAre(50, 10));
  EXPECT_EQ(script.tracker.counters().hidden_switches, 0U);
  EXPECT_EQ(script.AccountOf(kA).on_cpu, 120U);
  EXPECT_THAT(script.tracker.TakeIdleBreaks(), IsEmpty());
}

TEST(TrackerTest, TheFirstEventOfACpuIsNoBreak) {
  SchedScript script;
  script.OnCpu(5).At(10).Sleeps(kA, kB).At(20).Sleeps(kB).At(30).Ends();
  EXPECT_EQ(script.tracker.counters().hidden_switches, 0U);
}

// K2.
TEST(TrackerTest, AnExecByAThreadThatIsNotTheLeaderIsNoBreak) {
  SchedScript script;
  script.OnCpu(0).At(0).Runs(kB);
  script.tracker.OnExecTakesOver(kB, kA, script.RowOf(kA), 0, 5);
  script.At(9).Sleeps(kA).At(12).Ends();
  EXPECT_EQ(script.tracker.counters().hidden_switches, 0U);
  EXPECT_EQ(script.AccountOf(kB).last, 5U);
  EXPECT_EQ(script.AccountOf(kB).on_cpu, 5U);
  EXPECT_EQ(script.AccountOf(kA).first, 5U);
  EXPECT_EQ(script.AccountOf(kA).on_cpu, 4U);
}

// K3.
TEST(TrackerTest, APendingSignalsSwitchKeepsTheReasonOfTheEvent) {
  SchedScript script;
  script.At(0).Runs(kA).At(5).Switch(kA, model::kTaskRunning, kIdle).At(8).Runs(kA).At(9).Ends();
  EXPECT_EQ(script.AccountOf(kA).involuntary_switches, 1U);
  EXPECT_EQ(script.AccountOf(kA).runnable, 3U);
}

// ---- E ----

TEST(TrackerTest, TheNameIsThatOfTheSwitchOut) {
  SchedScript script;
  script.comms[kA] = model::MakeComm("before");
  script.At(0).Runs(kA).At(5).Sleeps(kA);
  script.comms[kA] = model::MakeComm("after");
  script.At(8).Runs(kA).At(10).Sleeps(kA).At(12).Runs(kA).At(13).Ends();
  ASSERT_EQ(script.intervals.size(), 2U);
  EXPECT_EQ(model::CommView(script.intervals[0].comm), "before");
  EXPECT_EQ(model::CommView(script.intervals[1].comm), "after");
}

// E8.
TEST(TrackerTest, OnlyFollowedThreadsHaveIntervals) {
  SchedScript script;
  script.ignored[kB] = true;
  script.At(0).Runs(kA).At(5).Sleeps(kA, kB).At(9).Switch(kB, model::kTaskInterruptible, kA);
  script.At(12).Ends();
  EXPECT_THAT(script.Durations(kA), ElementsAre(4));
  EXPECT_EQ(script.intervals.size(), 1U);
}

TEST(TrackerTest, AWakeupOutsideAWaitIsDropped) {
  SchedScript script;
  script.At(0).Runs(kA).At(2).Wakes(kA).At(5).Sleeps(kA).At(9).Runs(kA).At(10).Ends();
  EXPECT_EQ(script.AccountOf(kA).blocked.unsplit, 4U);
  EXPECT_EQ(script.tracker.counters().outside_wakeups, 1U);
}

TEST(TrackerTest, WithoutWakeupEventsAnOpenWaitIsUnsplit) {
  SchedScript script(/*wakeups=*/false);
  script.At(0).Runs(kA).At(5).Sleeps(kA).At(9).Ends();
  EXPECT_EQ(script.AccountOf(kA).blocked.unsplit, 4U);
}

// Law 1 and law 3 on streams that make no sense: accounts add up, intervals lie inside the window.
TEST(TrackerTest, AnyStreamOfEventsKeepsTheBooksBalanced) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    SchedScript script;
    script.tracker.Begin(50);
    Nanos time = 0;
    for (int i = 0; i < 300; ++i) {
      time += random() % 5;
      const auto tid = [&] { return static_cast<model::Tid>(random() % 6); };
      script.At(time).OnCpu(static_cast<model::Cpu>(random() % 3));
      switch (random() % 12) {
        case 0: script.Loses(time + random() % 20); break;
        case 1: script.IsBorn(1 + tid()); break;
        case 3: script.SwitchRecordIn(tid()); break;
        case 4: script.Wakes(tid()); break;
        case 5: script.Switch(tid(), model::kTaskDead, tid()); break;
        default: script.Switch(tid(), random() % 3, tid(), random() % 5 == 0);
      }
    }
    script.At(time + 10).Ends();
    for (const Account& account : script.tracker.accounts()) {
      ASSERT_EQ(SchedScript::Sum(account), account.life) << "round " << round;
    }
    for (const model::Interval& interval : script.intervals) {
      ASSERT_LE(50U, interval.start);
      ASSERT_LE(interval.start, interval.end);
      ASSERT_LE(interval.end, time + 10);
    }
  }
}

// Events of single threads do not tell who came next, nor what others did in between.
TEST(TrackerTest, ThreadsThatAreSeenAloneOnTheirCpuHaveWholeIntervals) {
  constexpr model::Tid kUnknown = -1;
  SchedScript script(/*wakeups=*/false);
  script.OnCpu(0).At(10).Switch(kA, model::kTaskUnknownState, kUnknown);
  script.At(20).SwitchRecordIn(kB).At(25).Switch(kB, model::kTaskRunning, kUnknown);
  script.OnCpu(1).At(30).SwitchRecordIn(kA).At(40).Switch(kA, model::kTaskUnknownState, kUnknown);
  script.OnCpu(0).At(45).SwitchRecordIn(kB).At(50).SwitchRecordIn(kA).At(60).Ends();
  EXPECT_THAT(script.Durations(kA), ElementsAre(20, 10));
  EXPECT_THAT(script.Durations(kB), ElementsAre(20));
  EXPECT_EQ(script.AccountOf(kA).on_cpu, 10U + 10U + 10U);
  EXPECT_EQ(script.AccountOf(kA).blocked.unsplit, 30U);
  EXPECT_EQ(script.AccountOf(kB).runnable, 20U);
  EXPECT_EQ(script.tracker.counters().hidden_switches, 0U);
  EXPECT_EQ(script.tracker.counters().hidden_intervals, 0U);
  EXPECT_THAT(script.tracker.TakeIdleBreaks(), IsEmpty());
}

// A thread that was on a CPU all the time shows first by leaving it, also where others came before.
TEST(TrackerTest, AFirstSwitchOutOfAThreadSeenAloneEndsItsTimeOnTheCpu) {
  SchedScript script(/*wakeups=*/false);
  script.OnCpu(0).At(40).Switch(kA, model::kTaskUnknownState, -1);
  script.At(50).SwitchRecordIn(kA).At(60).Ends();
  EXPECT_EQ(script.AccountOf(kA).on_cpu, 50U);
  EXPECT_EQ(script.AccountOf(kA).unknown, 0U);
  EXPECT_THAT(script.Durations(kA), ElementsAre(10));
}

}  // namespace
}  // namespace offcpu::sched
