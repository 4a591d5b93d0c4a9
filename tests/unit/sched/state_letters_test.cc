// SPDX-License-Identifier: MIT
#include "sched/state_letters.h"

#include <gtest/gtest.h>

#include <string>

#include "model/sched_event.h"

namespace offcpu::sched {
namespace {

using namespace model;  // the states

StateFilter Filter(std::string_view letters) {
  auto filter = StateFilter::Parse(letters);
  EXPECT_TRUE(filter) << letters;
  return filter ? *filter : StateFilter();
}

TEST(StateLetters, JoinTheLettersFromTheLowestBitUp) {
  EXPECT_EQ(StateLetters(kTaskRunning), "R");
  EXPECT_EQ(StateLetters(kTaskInterruptible), "S");
  EXPECT_EQ(StateLetters(kTaskKillable | kTaskUninterruptible), "D|K");
  EXPECT_EQ(StateLetters(0x7ff), "S|D|T|t|X|Z|P|I|K|W|N");
}

TEST(StateLetters, ShowOneQuestionMarkForAllThatHasNoLetter) {
  EXPECT_EQ(StateLetters(kTaskUnknownState), "?");
  EXPECT_EQ(StateLetters(0x80000000U | kTaskUnknownState | kTaskInterruptible), "S|?");
}

TEST(StateFilter, DMatchesDAndKillableButNotIdle) {
  const auto filter = Filter("D");
  EXPECT_TRUE(filter.Matches(kTaskUninterruptible, false));
  EXPECT_TRUE(filter.Matches(kTaskUninterruptible | kTaskKillable, false));
  EXPECT_FALSE(filter.Matches(kTaskIdle, false));
  EXPECT_FALSE(filter.Matches(kTaskUninterruptible | kTaskNoLoad, false));
  EXPECT_FALSE(filter.Matches(kTaskInterruptible, false));
  EXPECT_FALSE(filter.Matches(kTaskRunning, false));
}

TEST(StateFilter, IMatchesTheIdleStateOfBothEras) {
  const auto filter = Filter("I");
  EXPECT_TRUE(filter.Matches(kTaskIdle, false));
  EXPECT_TRUE(filter.Matches(kTaskUninterruptible | kTaskNoLoad, false));
  EXPECT_FALSE(filter.Matches(kTaskUninterruptible, false));
  EXPECT_FALSE(filter.Matches(kTaskNoLoad, false));
}

TEST(StateFilter, RMatchesTheRunningStateAndWhatWasPreempted) {
  EXPECT_TRUE(Filter("R").Matches(kTaskRunning, false));
  EXPECT_TRUE(Filter("R").Matches(kTaskRunning, true));
  EXPECT_TRUE(Filter("R").Matches(kTaskInterruptible, true));
  EXPECT_FALSE(Filter("S").Matches(kTaskInterruptible, true));
  EXPECT_FALSE(Filter("R").Matches(kTaskInterruptible, false));
}

TEST(StateFilter, LettersAddUpWithAndWithoutCommas) {
  for (const char* letters : {"SDt", "S,D,t", "t,S,D"}) {
    const auto filter = Filter(letters);
    EXPECT_TRUE(filter.Matches(kTaskInterruptible, false)) << letters;
    EXPECT_TRUE(filter.Matches(kTaskUninterruptible, false)) << letters;
    EXPECT_TRUE(filter.Matches(kTaskTraced, false)) << letters;
    EXPECT_FALSE(filter.Matches(kTaskStopped, false)) << letters;
  }
}

TEST(StateFilter, EveryLetterSelectsItsOwnStateAlone) {
  const std::string letters = "SDTtXZPIKW";
  for (size_t i = 0; i < letters.size(); ++i) {
    const auto filter = Filter(letters.substr(i, 1));
    for (size_t bit = 0; bit < letters.size(); ++bit) {
      EXPECT_EQ(filter.Matches(1U << bit, false), bit == i) << letters[i] << " " << bit;
    }
  }
}

TEST(StateFilter, AStateWithoutLetterIsMatchedByNone) {
  EXPECT_FALSE(Filter("RSDTtXZPIKW").Matches(kTaskUnknownState, false));
}

TEST(StateFilter, WithoutLettersEverythingMatches) {
  EXPECT_TRUE(StateFilter().Matches(kTaskUnknownState, false));
  EXPECT_TRUE(StateFilter().Matches(kTaskRunning, true));
}

TEST(StateFilter, AnUnknownLetterIsAUsageErrorThatNamesItAndTheOthers) {
  const auto filter = StateFilter::Parse("S,Q");
  ASSERT_FALSE(filter);
  EXPECT_EQ(filter.error().code, ErrorCode::kUsage);
  EXPECT_EQ(filter.error().message, "task states 'S,Q': there is no state 'Q'");
  EXPECT_EQ(filter.error().hint, "the letters are R S D T t X Z P I K W");
  for (const char* bad : {"N", "x", "s", "S D", "S|D", "", ",", "S\n"}) {
    EXPECT_FALSE(StateFilter::Parse(bad)) << bad;
  }
}

}  // namespace
}  // namespace offcpu::sched
