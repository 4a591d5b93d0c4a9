// SPDX-License-Identifier: MIT
#include "source/perf/idle_probe.h"

#include <gtest/gtest.h>

namespace offcpu::source::perf {
namespace {

constexpr model::Tid kSleeper = 42;

model::Switch Switch(Nanos time, model::Tid prev, uint32_t state, model::Tid next) {
  model::Switch event;
  event.time = time;
  event.prev_tid = prev;
  event.prev_state = state;
  event.next_tid = next;
  return event;
}
model::Switch Sleeps(Nanos time, model::Tid next = 0) {
  return Switch(time, kSleeper, model::kTaskInterruptible, next);
}
model::Switch Returns(Nanos time, model::Tid prev = 0) { return Switch(time, prev, 0, kSleeper); }

TEST(IdleProbeTest, ReturnsFromIdleThatAreSeenMakeItVisible) {
  const model::Switch switches[] = {Sleeps(100), Returns(600), Sleeps(700), Returns(1200)};
  const Nanos wakes[] = {610, 1210};
  EXPECT_EQ(JudgeProbe(kSleeper, switches, wakes, {}).idle, IdleVisibility::kVisible);
}

TEST(IdleProbeTest, AReturnFromIdleThatIsMissingMakesItHidden) {
  const model::Switch switches[] = {Sleeps(100), Sleeps(700)};
  const Nanos wakes[] = {610, 1210};
  EXPECT_EQ(JudgeProbe(kSleeper, switches, wakes, {}).idle, IdleVisibility::kHidden);
}

TEST(IdleProbeTest, OnABusyCpuNothingIsDecided) {
  const model::Switch switches[] = {Sleeps(100, 9), Returns(600, 9), Sleeps(700, 9)};
  const Nanos wakes[] = {610, 1210};
  EXPECT_EQ(JudgeProbe(kSleeper, switches, wakes, {}).idle, IdleVisibility::kUndecided);
  EXPECT_EQ(JudgeProbe(kSleeper, {}, {}, {}).idle, IdleVisibility::kUndecided);
}

TEST(IdleProbeTest, AThreadThatRanInBetweenSaysNothingOfTheIdleTask) {
  const model::Switch switches[] = {Sleeps(100), Returns(600, 9), Sleeps(700), Returns(1200, 9)};
  const Nanos wakes[] = {610, 1210};
  EXPECT_EQ(JudgeProbe(kSleeper, switches, wakes, {}).idle, IdleVisibility::kUndecided);
}

TEST(IdleProbeTest, TheClockOfTheCpuIsFoundWhereItWasReadDuringASleep) {
  const model::Switch switches[] = {Sleeps(1000), Returns(1600), Sleeps(1700), Returns(2200)};
  const Nanos wakes[] = {1610, 2210};
  const ExecStartReading awake[] = {{1620, 1640, 500}, {1590, 1630, 500}};
  EXPECT_FALSE(JudgeProbe(kSleeper, switches, wakes, awake).exec_start_offset);
  const ExecStartReading asleep[] = {{1100, 1120, 400}};
  EXPECT_EQ(JudgeProbe(kSleeper, switches, wakes, asleep).exec_start_offset, 600);
}

TEST(IdleProbeTest, TheClockIsFoundOnACpuWithHiddenIdleToo) {
  const model::Switch switches[] = {Sleeps(1000)};
  const Nanos wakes[] = {1610};
  const ExecStartReading asleep[] = {{1100, 1120, 1500}};
  EXPECT_EQ(JudgeProbe(kSleeper, switches, wakes, asleep).exec_start_offset, -500);
}

}  // namespace
}  // namespace offcpu::source::perf
