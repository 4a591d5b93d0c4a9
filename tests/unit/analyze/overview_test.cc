// SPDX-License-Identifier: MIT
#include "analyze/overview.h"

#include <gtest/gtest.h>

#include "tests/support/profile_fixture.h"

namespace offcpu::analyze {
namespace {

TEST(Overview, CountsWhatIsThere) {
  const Overview overview = OverviewOf(testing::SampleProfile());
  EXPECT_EQ(overview.kept_intervals, 27);
  EXPECT_EQ(overview.kept_ns, 9'077'250'127);
  EXPECT_EQ(overview.threads, 10);  // three and seven ended ones
  EXPECT_EQ(overview.processes, 1);
  EXPECT_EQ(overview.user_stacks, 3);
  EXPECT_EQ(overview.kernel_stacks, 2);
  EXPECT_EQ(overview.left_open, 1);
  EXPECT_EQ(overview.right_open, 1);
  EXPECT_EQ(overview.unknown_ns, 600);
}

TEST(Overview, MeasuresTheTimeWithoutAWholeStack) {
  const Overview overview = OverviewOf(testing::SampleProfile());
  EXPECT_EQ(overview.truncated_ns, 1'000'000'000);
  EXPECT_EQ(overview.no_kernel_stack_ns, 250'000);
  EXPECT_EQ(overview.no_user_stack_ns, 0);  // the kernel thread has none to miss
}

TEST(Overview, TellsABurstOfLossesFromLossesAllTheTime) {
  profile::Profile profile;
  profile.window_ns = 10 * kNanosPerSecond;
  profile.losses = {{0, 1 * kNanosPerSecond, 1 * kNanosPerSecond + 500, 3},
                    {0, 1 * kNanosPerSecond + 700, 1 * kNanosPerSecond + 800, 4},
                    {0, 9 * kNanosPerSecond, 9 * kNanosPerSecond + 100, 5},
                    {1, 9 * kNanosPerSecond + 50, 9 * kNanosPerSecond + 150, 6}};
  const Overview overview = OverviewOf(profile);
  ASSERT_EQ(overview.loss_seconds.size(), 3);
  EXPECT_EQ(overview.loss_seconds[0].second, 1);
  EXPECT_EQ(overview.loss_seconds[0].spans, 2);
  EXPECT_EQ(overview.loss_seconds[0].events, 7);
  EXPECT_EQ(overview.loss_seconds[0].ns, 600);
  EXPECT_EQ(overview.loss_seconds[1].second, 9);
  EXPECT_EQ(overview.loss_seconds[2].cpu, 1);
  EXPECT_EQ(overview.lossy_ns, 600 + 150);  // the last two overlap
}

}  // namespace
}  // namespace offcpu::analyze
