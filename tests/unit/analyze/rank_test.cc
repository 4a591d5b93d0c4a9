// SPDX-License-Identifier: MIT
#include "analyze/rank.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analyze/frame_text.h"
#include "analyze/wait_place.h"
#include "tests/support/profile_fixture.h"
#include "tests/support/wait_profiles.h"

namespace offcpu::analyze {
namespace {

using testing::KernelFrame;
using testing::ProfileFixture;
using testing::UserFrame;
using Texts = std::vector<std::string>;

Ranking RankingOf(const profile::Profile& profile, RankBy by,
                  Weights weights = Weights::kObserved) {
  const std::vector<std::string> texts = FrameTexts(profile);
  const Result<Filter> filter = Filter::Create(profile, texts, Selection());
  EXPECT_TRUE(filter);
  return Rank(profile, texts, *filter, by, weights);
}

Texts RowTexts(const Ranking& ranking) {
  Texts texts;
  for (const RankRow& row : ranking.rows) texts.push_back(RowText(ranking, row));
  return texts;
}

TEST(Rank, NamesWhereThreadsWaitByDefault) {
  EXPECT_EQ(
      RowTexts(RankingOf(testing::WaitsProfile(), RankBy::kPlace)),
      (Texts{
          "worker_thread_[k]", "ep_poll_[k] <- epoll_wait <- Loop::run(int)",
          "futex_wait_queue_[k] <- __lll_lock_wait <- Worker::take()",
          "irqentry_exit_to_user_mode_[k] <- spin", "do_nanosleep_[k] <- clock_nanosleep <- main",
          "folio_wait_bit_common_[k] <- read <- Worker::load()", "futex_wait_queue_[k] <- spin"}));
}

TEST(Rank, AddsUpToWhatWasSelectedUnlessRowsOverlap) {
  const profile::Profile profile = testing::WaitsProfile();
  for (size_t by = 0; by < kRankNames.size(); ++by) {
    const Ranking ranking = RankingOf(profile, static_cast<RankBy>(by));
    Nanos sum = 0;
    for (const RankRow& row : ranking.rows) {
      sum += row.ns;
      EXPECT_EQ(row.time.sleeping + row.time.runqueue + row.time.unsplit, row.ns);
      EXPECT_LE(row.ns, ranking.kept.ns);
    }
    if (ranking.by == RankBy::kFunction) continue;
    EXPECT_EQ(sum, ranking.kept.ns) << kRankNames[by];
  }
}

TEST(Rank, WeighsByTimeNotByCount) {
  ProfileFixture fixture;
  const auto thread = fixture.AddThread(1, 1, "a", "a");
  fixture.AddEntry({.thread = thread,
                    .user_stack = fixture.AddStack({UserFrame("often")}),
                    .sleeping_ns = 49'000'000,
                    .intervals = 237});
  fixture.AddEntry({.thread = thread,
                    .user_stack = fixture.AddStack({UserFrame("long")}),
                    .sleeping_ns = 9'600'000'000,
                    .intervals = 75});
  const Ranking ranking = RankingOf(fixture.Build(), RankBy::kFrame);
  ASSERT_EQ(RowTexts(ranking), (Texts{"long (app)", "often (app)"}));
  EXPECT_EQ(ranking.rows[0].intervals, 75);
  EXPECT_EQ(ranking.rows[0].mean_ns(), 128'000'000);
  EXPECT_EQ(ranking.rows[0].max_ns, 128'000'000);
}

TEST(Rank, BreaksTiesByText) {
  ProfileFixture fixture;
  const auto thread = fixture.AddThread(1, 1, "a", "a");
  for (const char* name : {"b", "c", "a"}) {
    fixture.AddEntry({.thread = thread,
                      .user_stack = fixture.AddStack({UserFrame(name, "")}),
                      .sleeping_ns = 5});
  }
  EXPECT_EQ(RowTexts(RankingOf(fixture.Build(), RankBy::kFrame)), (Texts{"a", "b", "c"}));
}

TEST(Rank, CountsARecursiveFunctionOnce) {
  ProfileFixture fixture;
  const auto thread = fixture.AddThread(1, 1, "a", "a");
  fixture.AddEntry(
      {.thread = thread,
       .user_stack = fixture.AddStack({UserFrame("f", ""), UserFrame("g", ""), UserFrame("f", "")}),
       .kernel_stack = fixture.AddStack({KernelFrame("schedule")}),
       .sleeping_ns = 5});
  const Ranking ranking = RankingOf(fixture.Build(), RankBy::kFunction);
  EXPECT_EQ(RowTexts(ranking), (Texts{"f", "g", "schedule_[k]"}));
  for (const RankRow& row : ranking.rows) EXPECT_EQ(row.ns, 5);
}

TEST(Rank, KeepsTheTimeOfIntervalsWithoutAStack) {
  ProfileFixture fixture;
  const auto thread = fixture.AddThread(1, 1, "a", "a");
  fixture.AddEntry({.thread = thread, .sleeping_ns = 7});
  const profile::Profile profile = fixture.Build();
  EXPECT_EQ(RowTexts(RankingOf(profile, RankBy::kPlace)),
            Texts{"[kernel stack unavailable] <- [user stack unavailable]"});
  EXPECT_EQ(RowTexts(RankingOf(profile, RankBy::kFunction)),
            (Texts{"[kernel stack unavailable]", "[user stack unavailable]"}));
  EXPECT_EQ(RowTexts(RankingOf(profile, RankBy::kModule)), Texts{"[user stack unavailable]"});
}

TEST(Rank, TellsProcessAndThreadApart) {
  ProfileFixture fixture;
  const auto thread = fixture.AddThread(10, 11, "Attach API wait", "java");
  fixture.AddEntry({.thread = thread, .sleeping_ns = 7});
  const profile::Profile profile = fixture.Build();
  EXPECT_EQ(RowTexts(RankingOf(profile, RankBy::kThread)),
            Texts{"Attach API wait, tid 11, java, pid 10"});
  EXPECT_EQ(RowTexts(RankingOf(profile, RankBy::kProcess)), Texts{"java, pid 10"});
}

TEST(Rank, NamesTheModuleWhereAFrameIsOnlyAnAddress) {
  ProfileFixture fixture;
  const auto thread = fixture.AddThread(1, 1, "a", "a");
  fixture.AddEntry({.thread = thread,
                    .user_stack = fixture.AddStack({UserFrame("0x1234", "libx.so")}),
                    .kernel_stack = fixture.AddStack({KernelFrame("pipe_read")}),
                    .sleeping_ns = 7});
  EXPECT_EQ(RowTexts(RankingOf(fixture.Build(), RankBy::kPlace)),
            Texts{"pipe_read_[k] <- libx.so+0x1234"});
}

TEST(Rank, MeasuresMeanAndMaxAlsoWhenWeightsAreEstimates) {
  ProfileFixture fixture;
  fixture.profile().origin.estimated = true;
  const auto thread = fixture.AddThread(1, 1, "a", "a");
  fixture.AddEntry({.thread = thread, .sleeping_ns = 10, .intervals = 2}).estimated_ns = 1000;
  const Ranking ranking = RankingOf(fixture.Build(), RankBy::kReason, Weights::kEstimated);
  ASSERT_EQ(ranking.rows.size(), 1);
  EXPECT_EQ(ranking.rows[0].ns, 1000);
  EXPECT_EQ(ranking.rows[0].mean_ns(), 5);
  EXPECT_EQ(ranking.rows[0].max_ns, 5);
}

TEST(WaitPlace, SkipsTheSchedulerAndCompilersSuffixes) {
  EXPECT_TRUE(IsSchedulerFunction("__schedule"));
  EXPECT_TRUE(IsSchedulerFunction("schedule_timeout"));
  EXPECT_TRUE(IsSchedulerFunction("io_schedule.part.0"));
  EXPECT_TRUE(IsSchedulerFunction("schedule+0x2a"));
  EXPECT_FALSE(IsSchedulerFunction("do_nanosleep"));
  EXPECT_FALSE(IsSchedulerFunction("schedule_work"));
  EXPECT_FALSE(IsSchedulerFunction(""));
}

TEST(WaitPlace, IsTheLeafWhenNothingButTheSchedulerIsThere) {
  ProfileFixture fixture;
  const auto thread = fixture.AddThread(1, 1, "a", "a");
  fixture.AddEntry(
      {.thread = thread,
       .kernel_stack = fixture.AddStack({KernelFrame("schedule"), KernelFrame("__schedule")}),
       .sleeping_ns = 1});
  const profile::Profile profile = fixture.Build();
  const WaitPlace place = WaitPlaceOf(profile, profile.entries[0]);
  EXPECT_EQ(profile.String(profile.frames[place.kernel].name), "__schedule");
  EXPECT_EQ(place.user, 0);
  EXPECT_EQ(place.caller, 0);
}

TEST(WaitPlace, KnowsTheRuntimeLibraries) {
  EXPECT_TRUE(IsRuntimeLibrary("libc.so.6"));
  EXPECT_TRUE(IsRuntimeLibrary("/usr/lib/libc-2.31.so"));
  EXPECT_TRUE(IsRuntimeLibrary("ld-musl-x86_64.so.1"));
  EXPECT_TRUE(IsRuntimeLibrary("[vdso]"));
  EXPECT_FALSE(IsRuntimeLibrary("libcrypto.so.3"));
  EXPECT_FALSE(IsRuntimeLibrary("service"));
}

}  // namespace
}  // namespace offcpu::analyze
