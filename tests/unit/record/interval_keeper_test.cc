// SPDX-License-Identifier: MIT
#include "record/interval_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace offcpu::record {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

model::Interval Wait(Nanos duration, model::Reason reason = model::Reason::kBlocked,
                     uint32_t state = model::kTaskInterruptible) {
  model::Interval interval;
  interval.reason = reason;
  interval.task_state = state;
  interval.start = 1000;
  interval.end = 1000 + duration;
  return interval;
}

TEST(IntervalKeeperTest, OtherReasonsAreCountedAllTheSame) {
  IntervalKeeper keeper{Selection{}};
  EXPECT_TRUE(keeper.Keep(Wait(10), false));
  EXPECT_FALSE(keeper.Keep(Wait(20, model::Reason::kRunnable, 0), false));
  EXPECT_FALSE(keeper.Keep(Wait(30, model::Reason::kPreempted, 0), false));
  EXPECT_THAT(keeper.ByReason(),
              ElementsAre(profile::Counter{"blocked", 1, 10}, profile::Counter{"runnable", 1, 20},
                          profile::Counter{"preempted", 1, 30}));
  EXPECT_THAT(keeper.Rejected(), ElementsAre(profile::Counter{"reason", 2, 50}));
}

TEST(IntervalKeeperTest, BoundsAreStrictAndWhatTheyRejectIsCountedWithItsTime) {
  Selection selection;
  selection.min_off_cpu = 10;
  selection.max_off_cpu = 20;
  IntervalKeeper keeper(selection);
  EXPECT_FALSE(keeper.Keep(Wait(10), false));
  EXPECT_TRUE(keeper.Keep(Wait(11), false));
  EXPECT_TRUE(keeper.Keep(Wait(19), false));
  EXPECT_FALSE(keeper.Keep(Wait(20), false));
  EXPECT_THAT(keeper.Rejected(), ElementsAre(profile::Counter{"min_off_cpu", 1, 10},
                                             profile::Counter{"max_off_cpu", 1, 20}));
}

TEST(IntervalKeeperTest, StateDMatchesKillableWaitsAndNotIdleOnes) {
  Selection selection;
  selection.states = *sched::StateFilter::Parse("D");
  IntervalKeeper keeper(selection);
  using model::Reason;
  EXPECT_TRUE(keeper.Keep(Wait(1, Reason::kBlocked, model::kTaskUninterruptible), false));
  EXPECT_TRUE(keeper.Keep(
      Wait(1, Reason::kBlocked, model::kTaskUninterruptible | model::kTaskKillable), false));
  EXPECT_FALSE(keeper.Keep(Wait(1, Reason::kBlocked, model::kTaskIdle), false));
  EXPECT_FALSE(keeper.Keep(Wait(1), false));
  EXPECT_THAT(keeper.Rejected(), ElementsAre(profile::Counter{"state", 2, 2}));
}

TEST(IntervalKeeperTest, ThreadsOfTheKernelCanBeLeftOutOrKeptAlone) {
  Selection users;
  users.kernel_threads = false;
  IntervalKeeper user_keeper(users);
  EXPECT_TRUE(user_keeper.Keep(Wait(1), false));
  EXPECT_FALSE(user_keeper.Keep(Wait(1), true));
  Selection kernels;
  kernels.user_threads = false;
  IntervalKeeper kernel_keeper(kernels);
  EXPECT_FALSE(kernel_keeper.Keep(Wait(1), false));
  EXPECT_TRUE(kernel_keeper.Keep(Wait(1), true));
}

TEST(IntervalKeeperTest, NothingRejectedIsNothingListed) {
  EXPECT_THAT(IntervalKeeper{Selection{}}.Rejected(), IsEmpty());
}

}  // namespace
}  // namespace offcpu::record
