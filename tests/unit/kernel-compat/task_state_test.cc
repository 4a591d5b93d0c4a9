// SPDX-License-Identifier: MIT
#include "kernel-compat/task_state.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "model/sched_event.h"

namespace offcpu::kernel_compat {
namespace {

using model::TaskState;

StateDecoder Release(int version, int patchlevel) {
  return StateDecoder::FromPrintText("", KernelRelease{version, patchlevel});
}

// The text of a kernel before 4.14, with the letters of the bits from 0x1 up.
std::string OldText(const std::string& mark, std::string_view letters) {
  std::string flags;
  for (size_t bit = 0; bit < letters.size(); ++bit) {
    flags += ", { " + std::to_string(1ULL << bit) + ", \"" + letters[bit] + "\" }";
  }
  return "\"%s%s %s\", REC->prev_state & (" + mark + "-1) ? __print_flags(REC->prev_state & (" +
         mark + "-1), \"|\"" + flags + ") : \"R\", REC->prev_state & " + mark +
         " ? \"+\" : \"\", REC->next_comm";
}

TEST(StateDecoder, EveryLetterBecomesTheModelsBitWhereverItStood) {
  const auto decoder =
      StateDecoder::FromPrintText(OldText("4096", "WKINPZxXtTDS"), KernelRelease{6, 0});
  ASSERT_EQ(decoder.origin(), StateDecoder::Origin::kPrintText);
  const uint32_t expected[] = {model::kTaskWaking,
                               model::kTaskKillable,
                               model::kTaskIdle,
                               model::kTaskNoLoad,
                               model::kTaskParked,
                               model::kTaskZombie,
                               model::kTaskDead,
                               model::kTaskDead,
                               model::kTaskTraced,
                               model::kTaskStopped,
                               model::kTaskUninterruptible,
                               model::kTaskInterruptible};
  for (size_t bit = 0; bit < 12; ++bit) {
    EXPECT_EQ(decoder.Decode(int64_t{1} << bit).state, expected[bit]) << bit;
    EXPECT_FALSE(decoder.Decode(int64_t{1} << bit).preempted) << bit;
  }
}

TEST(StateDecoder, BitsAddUpAndTheMarkIsKeptApart) {
  const auto decoder = StateDecoder::FromPrintText(OldText("2048", "SDTtZXxKWPN"), {});
  EXPECT_EQ(decoder.Decode(0).state, model::kTaskRunning);
  EXPECT_FALSE(decoder.Decode(0).preempted);
  EXPECT_EQ(decoder.Decode(130).state, model::kTaskUninterruptible | model::kTaskKillable);
  EXPECT_EQ(decoder.Decode(2048).state, model::kTaskRunning);
  EXPECT_TRUE(decoder.Decode(2048).preempted);
  EXPECT_EQ(decoder.Decode(2049).state, model::kTaskInterruptible);
  EXPECT_TRUE(decoder.Decode(2049).preempted);
}

TEST(StateDecoder, WhatHasNoLetterIsAnUnknownStateNotARunningOne) {
  const auto decoder = StateDecoder::FromPrintText(OldText("256", "SD?tXZPI"), {});
  EXPECT_EQ(decoder.Decode(0x4).state, model::kTaskUnknownState);    // a letter of tomorrow
  EXPECT_EQ(decoder.Decode(0x200).state, model::kTaskUnknownState);  // no letter at all
  EXPECT_EQ(decoder.Decode(0x201).state, model::kTaskUnknownState | model::kTaskInterruptible);
}

TEST(StateDecoder, NegativeValuesAreReadBitByBitLikeAllOthers) {
  const StateDecoder decoder;
  EXPECT_EQ(decoder.Decode(std::numeric_limits<int32_t>::min()).state, model::kTaskUnknownState);
  EXPECT_FALSE(decoder.Decode(std::numeric_limits<int32_t>::min()).preempted);
  EXPECT_EQ(decoder.Decode(std::numeric_limits<int64_t>::min()).state, model::kTaskUnknownState);
  EXPECT_EQ(decoder.Decode(-1).state, model::kTaskUnknownState | 0xffU);
  EXPECT_TRUE(decoder.Decode(-1).preempted);
}

TEST(StateDecoder, WithoutPrintTextTheReleaseDecides) {
  struct {
    int version;
    int patchlevel;
    uint64_t mark;
  } const releases[] = {{2, 6, 0},      {3, 1, 0},      {3, 2, 0x200},  {3, 8, 0x200},
                        {3, 9, 0x400},  {3, 10, 0x400}, {4, 1, 0x400},  {4, 2, 0x800},
                        {4, 4, 0x800},  {4, 7, 0x800},  {4, 8, 0x1000}, {4, 13, 0x1000},
                        {4, 14, 0x100}, {5, 10, 0x100}, {6, 18, 0x100}, {7, 0, 0x100}};
  for (const auto& each : releases) {
    const auto decoder = Release(each.version, each.patchlevel);
    EXPECT_EQ(decoder.preempt_mark(), each.mark) << each.version << "." << each.patchlevel;
    EXPECT_EQ(decoder.has_preempt_mark(), each.mark != 0);
    EXPECT_EQ(decoder.origin(), StateDecoder::Origin::kRelease);
    EXPECT_FALSE(decoder.guessed());
  }
  EXPECT_EQ(Release(3, 10).Decode(0x10).state, model::kTaskZombie);
  EXPECT_EQ(Release(4, 4).Decode(0x402).state, model::kTaskUninterruptible | model::kTaskNoLoad);
  EXPECT_EQ(Release(4, 9).Decode(0x800).state, model::kTaskUnknownState);  // TASK_NEW
  EXPECT_EQ(Release(5, 10).Decode(0x10).state, model::kTaskDead);
}

TEST(StateDecoder, WithoutTextAndReleaseItSaysThatItGuesses) {
  const auto decoder = StateDecoder::FromPrintText("", std::nullopt);
  EXPECT_TRUE(decoder.guessed());
  EXPECT_EQ(decoder.preempt_mark(), 0x100U);
  EXPECT_TRUE(StateDecoder().guessed());
}

TEST(StateDecoder, ADamagedTextCountsAsNone) {
  const std::string text = OldText("1024", "SDTtZXxKWP");
  const size_t end = text.find("REC->next_comm");
  for (size_t size = 0; size < end; ++size) {
    const auto decoder = StateDecoder::FromPrintText(text.substr(0, size), KernelRelease{4, 4});
    EXPECT_EQ(decoder.origin(), StateDecoder::Origin::kRelease) << size;
    EXPECT_EQ(decoder.preempt_mark(), 0x800U) << size;
  }
}

TEST(KernelRelease, IsTheTwoNumbersInFront) {
  EXPECT_EQ(*ParseKernelRelease("6.18.44-fc-v669"), (KernelRelease{6, 18}));
  EXPECT_EQ(*ParseKernelRelease("3.10.0-1160.el7.x86_64"), (KernelRelease{3, 10}));
  EXPECT_EQ(*ParseKernelRelease("7.0-rc1"), (KernelRelease{7, 0}));
  EXPECT_EQ(*ParseKernelRelease("5.4"), (KernelRelease{5, 4}));
  for (const char* bad : {"", "6", "6.", ".18", "six.1", "-6.1", "6.x", "99999999999.1"}) {
    EXPECT_FALSE(ParseKernelRelease(bad)) << bad;
  }
}

}  // namespace
}  // namespace offcpu::kernel_compat
