// SPDX-License-Identifier: MIT
#include "record/sampled_account.h"

#include <gtest/gtest.h>

namespace offcpu::record {
namespace {

using process::SchedStat;

void ExpectConserved(const SampledAccount::Totals& t) {
  EXPECT_EQ(t.on_cpu + t.waiting + t.sleeping + t.unknown, t.last - t.first);
}

TEST(SampledAccountTest, WhatTheCountersOfASleeperLeaveIsSleep) {
  SampledAccount account;
  account.Look(1000, SchedStat{50, 5, 2}, true);
  account.Look(2000, SchedStat{350, 25, 6}, true);
  const auto totals = account.Finish(true);
  EXPECT_EQ(totals.on_cpu, 300U);
  EXPECT_EQ(totals.waiting, 20U);
  EXPECT_EQ(totals.sleeping, 680U);
  EXPECT_EQ(totals.unknown, 0U);
  EXPECT_EQ(totals.switch_ins, 4U);
  ExpectConserved(totals);
}

// look      1000        1100    1500   1600
// counters  0 (lags)    40      440    440
TEST(SampledAccountTest, LagOfARunningThreadIsUnknownAtBothEnds) {
  SampledAccount account;
  account.Look(1000, SchedStat{0, 0, 1}, false);
  EXPECT_FALSE(account.settled());
  account.Look(1100, SchedStat{40, 0, 1}, false);
  EXPECT_TRUE(account.settled());
  account.Look(1500, SchedStat{440, 0, 1}, false);
  account.Look(1600, SchedStat{440, 0, 1}, false);
  EXPECT_FALSE(account.settled());
  const auto totals = account.Finish(true);
  EXPECT_EQ(totals.on_cpu, 400U);
  EXPECT_EQ(totals.unknown, 200U) << "before the first growth, and since the last";
  EXPECT_EQ(totals.sleeping, 0U);
  ExpectConserved(totals);
}

TEST(SampledAccountTest, AThreadThatNeverGaveUpTheCpuDidNotSleep) {
  SampledAccount account;
  account.Look(1000, SchedStat{0, 0, 1}, false);
  account.Look(1010, SchedStat{10, 0, 1}, false);
  account.Look(2010, SchedStat{900, 0, 1}, false);
  const auto totals = account.Finish(false);
  EXPECT_EQ(totals.on_cpu, 890U);
  EXPECT_EQ(totals.sleeping, 0U);
  EXPECT_EQ(totals.unknown, 120U);
  ExpectConserved(totals);
}

TEST(SampledAccountTest, ANewbornsCountersCountFromZero) {
  SampledAccount account;
  account.SetBorn(900);
  account.Look(1000, SchedStat{30, 20, 1}, true);
  account.Look(1500, SchedStat{130, 20, 2}, true);
  const auto totals = account.Finish(true);
  EXPECT_EQ(totals.first, 900U);
  EXPECT_EQ(totals.on_cpu, 130U);
  EXPECT_EQ(totals.waiting, 20U);
  EXPECT_EQ(totals.unknown, 50U) << "its birth is known to a tick only";
  EXPECT_EQ(totals.sleeping, 400U);
  ExpectConserved(totals);
}

TEST(SampledAccountTest, CountersThatShrinkAreAnotherThreads) {
  SampledAccount account;
  account.Look(1000, SchedStat{500, 50, 9}, true);
  account.Look(1100, SchedStat{20, 1, 2}, true);
  account.Look(1200, SchedStat{70, 1, 3}, true);
  const auto totals = account.Finish(true);
  EXPECT_EQ(totals.on_cpu, 50U);
  EXPECT_EQ(totals.unknown, 100U);
  EXPECT_EQ(totals.sleeping, 50U);
  ExpectConserved(totals);
}

TEST(SampledAccountTest, CountersThatGrowMoreThanTheClockAreCutToIt) {
  SampledAccount account;
  account.Look(1000, SchedStat{0, 0, 1}, true);
  account.Look(1100, SchedStat{90, ~Nanos{0} / 2, 2}, true);
  const auto totals = account.Finish(true);
  EXPECT_EQ(totals.on_cpu, 90U);
  EXPECT_EQ(totals.waiting, 10U);
  ExpectConserved(totals);
}

TEST(SampledAccountTest, OneLookIsNoTime) {
  SampledAccount account;
  account.Look(1000, SchedStat{7, 7, 7}, false);
  ExpectConserved(account.Finish(true));
  EXPECT_EQ(account.Finish(true).last, 1000U);
}

}  // namespace
}  // namespace offcpu::record
