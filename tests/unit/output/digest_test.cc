// SPDX-License-Identifier: MIT
#include "output/digest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analyze/heaviest.h"
#include "tests/support/profile_fixture.h"

namespace offcpu::output {
namespace {

using testing::EntrySpec;
using ::testing::HasSubstr;
using testing::KernelFrame;
using ::testing::Not;
using testing::ProfileFixture;
using testing::UserFrame;

constexpr Nanos kMs = 1'000'000;

// Six pairs of stacks; the one of 40 ms belongs to two threads.
profile::Profile SixStacks() {
  ProfileFixture fixture;
  const auto kernel = fixture.AddStack({KernelFrame("do_syscall_64"), KernelFrame("schedule")});
  const auto first = fixture.AddThread(1, 1, "a", "a");
  const auto second = fixture.AddThread(1, 2, "b", "a");
  const auto add = [&](profile::ThreadId thread, const char* name, Nanos time) {
    EntrySpec spec;
    spec.thread = thread;
    spec.user_stack = fixture.AddStack({UserFrame("main"), UserFrame(name)});
    spec.kernel_stack = kernel;
    spec.sleeping_ns = time;
    fixture.AddEntry(spec);
  };
  add(first, "shared", 30 * kMs);
  add(second, "shared", 10 * kMs);
  add(first, "f50", 50 * kMs);
  add(first, "f35", 35 * kMs);
  add(first, "f20", 20 * kMs);
  add(first, "f5", 5 * kMs);
  add(first, "f1", 1 * kMs);
  return fixture.Build();
}

TEST(HeaviestStacks, TimeOfAllThreadsUnderAStackCounts) {
  const profile::Profile profile = SixStacks();
  const std::vector<analyze::HeavyStack> stacks = analyze::HeaviestStacks(profile, 3);
  ASSERT_EQ(stacks.size(), 3U);
  EXPECT_EQ(stacks[0].ns, 50 * kMs);
  EXPECT_EQ(stacks[1].ns, 40 * kMs);
  EXPECT_EQ(stacks[1].intervals, 2U);
  EXPECT_EQ(stacks[1].max_ns, 30 * kMs);
  EXPECT_EQ(stacks[2].ns, 35 * kMs);
}

TEST(Digest, ShowsTheFiveHeaviestStacksAndTheirShare) {
  const std::string text = DigestText(SixStacks());
  EXPECT_THAT(text, HasSubstr("1. 50.0 ms (33.1 %)"));
  EXPECT_THAT(text, HasSubstr("main ; f50 ; do_syscall_64_[k] ; schedule_[k]"));
  EXPECT_THAT(text, HasSubstr("main ; f5 ;"));
  EXPECT_THAT(text, Not(HasSubstr("main ; f1 ;")));
  EXPECT_THAT(text, HasSubstr("No events were lost."));
}

TEST(Digest, TellsLossesRejectionsAndWarnings) {
  profile::Profile profile = SixStacks();
  profile.lost_events = 12;
  profile.losses = {{0, 0, 1000, 12}};
  profile.rejected = {{"reason", 3, 7 * kMs}};
  profile.warnings = {"kernel functions have no names"};
  const std::string text = DigestText(profile);
  EXPECT_THAT(text, Not(HasSubstr("No events were lost.")));
  EXPECT_THAT(text, HasSubstr("12 lost events"));
  EXPECT_THAT(text, HasSubstr("3 rejected intervals, 7.00 ms"));
  EXPECT_THAT(text, HasSubstr("Note: kernel functions have no names."));
}

// I7.
TEST(Digest, OfNothingSaysSo) {
  EXPECT_THAT(DigestText(ProfileFixture().Build()), HasSubstr("No interval was kept."));
}

TEST(Digest, LongStacksShowTheirTwoEnds) {
  ProfileFixture fixture;
  std::vector<model::SymbolFrame> frames;
  for (int i = 0; i < 30; ++i) frames.push_back(UserFrame("f" + std::to_string(i)));
  EntrySpec spec;
  spec.thread = fixture.AddThread(1, 1, "a", "a");
  spec.user_stack = fixture.AddStack(frames);
  spec.sleeping_ns = kMs;
  fixture.AddEntry(spec);
  const std::string text = DigestText(fixture.Build());
  EXPECT_THAT(text, HasSubstr("f0 ; f1 ; f2 ; f3 ; ...22 more... ; f26 ; f27 ; f28 ; f29"));
}

}  // namespace
}  // namespace offcpu::output
