// SPDX-License-Identifier: MIT
#include "analyze/slice.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analyze/frame_text.h"
#include "tests/support/profile_fixture.h"
#include "tests/support/wait_profiles.h"

namespace offcpu::analyze {
namespace {

using testing::KernelFrame;
using testing::ProfileFixture;
using testing::UserFrame;
using Texts = std::vector<std::string>;

Slice SliceOf(const profile::Profile& profile, const SliceOptions& options = {},
              const Selection& selection = {}) {
  const std::vector<std::string> texts = FrameTexts(profile);
  const Result<Filter> filter = Filter::Create(profile, texts, selection);
  EXPECT_TRUE(filter);
  Result<Slice> slice = BuildSlice(profile, texts, *filter, options);
  EXPECT_TRUE(slice);
  return slice ? *slice : Slice();
}

// "a;b 1500" a line, with nanoseconds.
Texts Lines(const Slice& slice) {
  Texts lines;
  for (const SliceLine& line : slice.lines) {
    lines.push_back(LineText(slice, line) + ' ' + std::to_string(line.ns));
  }
  return lines;
}

TEST(Slice, GoesFromTheUserRootToTheKernelLeaf) {
  const Slice slice = SliceOf(testing::FiltersProfile());
  EXPECT_EQ(
      Lines(slice),
      (Texts{"[offcpu: blocked];Thread::run;epoll_wait;do_syscall_64_[k];ep_poll_[k];schedule_[k] "
             "3000",
             "[offcpu: blocked];[user stack unavailable];do_syscall_64_[k];futex_wait_[k] 2000",
             "[offcpu: runnable];Thread::run;sched_yield;schedule_[k] 500"}));
  EXPECT_EQ(slice.kept.ns, 5500);
  EXPECT_EQ(slice.kept.intervals, 6);
}

TEST(Slice, CountsWhatTheFilterDropped) {
  Selection selection;
  selection.exclude.push_back(std::move(*Pattern::Compile("^ep_poll_\\[k\\]$")));
  SliceOptions options;
  options.stack = StackPart::kUser;
  const Slice slice = SliceOf(testing::FiltersProfile(), options, selection);
  EXPECT_EQ(slice.kept.intervals, 3);
  EXPECT_EQ(slice.kept.ns, 2500);
  EXPECT_EQ(slice.filtered.intervals, 3);
  EXPECT_EQ(slice.filtered.ns, 3000);
}

TEST(Slice, ShowsReasonsOnlyWhenMoreThanOneHasTime) {
  Selection selection;
  selection.include.push_back(std::move(*Pattern::Compile("futex_wait")));
  EXPECT_FALSE(SliceOf(testing::FiltersProfile(), {}, selection).has_reason_frames);
  SliceOptions sleeping;
  sleeping.time = TimePart::kSleeping;  // the runnable entry has none
  EXPECT_FALSE(SliceOf(testing::FiltersProfile(), sleeping).has_reason_frames);
  SliceOptions always;
  always.reason_frames = ReasonFrames::kAlways;
  EXPECT_TRUE(SliceOf(testing::FiltersProfile(), always, selection).has_reason_frames);
  SliceOptions never;
  never.reason_frames = ReasonFrames::kNever;
  EXPECT_FALSE(SliceOf(testing::FiltersProfile(), never).has_reason_frames);
}

TEST(Slice, KeepsTheTimeOfIntervalsWithoutAStack) {
  ProfileFixture fixture;
  const auto thread = fixture.AddThread(1, 1, "a", "a");
  fixture.AddEntry({.thread = thread, .sleeping_ns = 7});
  EXPECT_EQ(Lines(SliceOf(fixture.Build())),
            Texts{"[user stack unavailable];[kernel stack unavailable] 7"});
}

TEST(Slice, MissesNoUserStackInThreadsOfTheKernel) {
  ProfileFixture fixture;
  const auto thread = fixture.AddThread(2, 2, "kthreadd", "kthreadd");
  fixture.profile().threads[thread].kernel_thread = true;
  fixture.AddEntry({.thread = thread,
                    .kernel_stack = fixture.AddStack({KernelFrame("kthread")}),
                    .sleeping_ns = 7});
  const profile::Profile profile = fixture.Build();
  EXPECT_EQ(Lines(SliceOf(profile)), Texts{"kthread_[k] 7"});
  SliceOptions user;
  user.stack = StackPart::kUser;
  EXPECT_EQ(Lines(SliceOf(profile, user)), Texts{"[user stack unavailable] 7"});
}

TEST(Slice, MergesLinesOfEqualTextInNanoseconds) {
  ProfileFixture fixture;
  const auto thread = fixture.AddThread(1, 1, "a", "a");
  for (const char* name : {"f+0x1", "f+0x2", "f;g", "f:g"}) {
    fixture.AddEntry({.thread = thread,
                      .user_stack = fixture.AddStack({UserFrame(name)}),
                      .sleeping_ns = 1250,
                      .intervals = 2});
  }
  SliceOptions user;
  user.stack = StackPart::kUser;
  const Slice slice = SliceOf(fixture.Build(), user);
  EXPECT_EQ(Lines(slice), (Texts{"f 2500", "f:g 2500"}));
  EXPECT_EQ(slice.lines[0].intervals, 4);
}

TEST(Slice, MergesEqualTextAcrossTheStacks) {
  ProfileFixture fixture;
  const auto thread = fixture.AddThread(1, 1, "a", "a");
  const auto both = fixture.AddStack({UserFrame("a"), UserFrame("b_[k]")});
  const auto a = fixture.AddStack({UserFrame("a")});
  const auto b = fixture.AddStack({KernelFrame("b")});
  const auto c = fixture.AddStack({KernelFrame("b"), KernelFrame("c")});
  const auto only_c = fixture.AddStack({KernelFrame("c")});
  fixture.AddEntry(
      {.thread = thread, .user_stack = both, .kernel_stack = only_c, .sleeping_ns = 1});
  fixture.AddEntry({.thread = thread, .user_stack = a, .kernel_stack = c, .sleeping_ns = 2});
  fixture.AddEntry({.thread = thread, .user_stack = a, .kernel_stack = b, .sleeping_ns = 4});
  EXPECT_EQ(Lines(SliceOf(fixture.Build())), (Texts{"a;b_[k] 4", "a;b_[k];c_[k] 3"}));
}

TEST(Slice, OrdersLinesByTheirJoinedTextInUtf16) {
  ProfileFixture fixture;
  const auto thread = fixture.AddThread(1, 1, "a", "a");
  const std::vector<std::vector<model::SymbolFrame>> stacks{
      {UserFrame("a"), UserFrame("z")},  // ';' sorts after ' ' and before '<'
      {UserFrame("a b")},
      {UserFrame("a<b")},
      {UserFrame("a")},
      {UserFrame("\xee\x80\x80")},
      {UserFrame("\xf0\x9f\x98\x80")},
  };
  for (const auto& stack : stacks) {
    fixture.AddEntry({.thread = thread, .user_stack = fixture.AddStack(stack), .sleeping_ns = 1});
  }
  SliceOptions user;
  user.stack = StackPart::kUser;
  EXPECT_EQ(Lines(SliceOf(fixture.Build(), user)),
            (Texts{"a 1", "a b 1", "a;z 1", "a<b 1", "\xf0\x9f\x98\x80 1", "\xee\x80\x80 1"}));
}

TEST(Slice, LeavesOutEntriesWithoutTimeAndCountsThem) {
  ProfileFixture fixture;
  const auto thread = fixture.AddThread(1, 1, "a", "a");
  fixture.AddEntry({.thread = thread, .sleeping_ns = 0, .intervals = 3});
  const Slice slice = SliceOf(fixture.Build());
  EXPECT_TRUE(slice.lines.empty());
  EXPECT_EQ(slice.kept.intervals, 3);
  EXPECT_EQ(slice.no_time.intervals, 3);
}

TEST(Slice, SplitsTimeIntoPartsThatAddUp) {
  ProfileFixture fixture;
  const auto thread = fixture.AddThread(1, 1, "a", "a");
  fixture.AddEntry({.thread = thread,
                    .user_stack = fixture.AddStack({UserFrame("f")}),
                    .sleeping_ns = 70,
                    .runqueue_ns = 30,
                    .unsplit_ns = 5});
  const profile::Profile profile = fixture.Build();
  SliceOptions options;
  options.stack = StackPart::kUser;
  options.time = TimePart::kSplit;
  const Slice split = SliceOf(profile, options);
  EXPECT_EQ(Lines(split), (Texts{"f;[runqueue] 30", "f;[sleeping] 70", "f;[unsplit] 5"}));
  EXPECT_EQ(split.kept.ns, 105);
  EXPECT_EQ(split.kept.intervals, 1);
  options.time = TimePart::kRunqueue;
  EXPECT_EQ(Lines(SliceOf(profile, options)), Texts{"f 30"});
  EXPECT_EQ(SliceOf(profile, options).unsplit_ns, 5);
}

TEST(Slice, WeighsByEstimatesThatKeepTheProportions) {
  ProfileFixture fixture;
  fixture.profile().origin.estimated = true;
  const auto thread = fixture.AddThread(1, 1, "a", "a");
  fixture
      .AddEntry({.thread = thread,
                 .user_stack = fixture.AddStack({UserFrame("f")}),
                 .sleeping_ns = 1,
                 .runqueue_ns = 1,
                 .unsplit_ns = 1})
      .estimated_ns = 100;
  const profile::Profile profile = fixture.Build();
  SliceOptions options;
  options.stack = StackPart::kUser;
  options.weights = Weights::kEstimated;
  EXPECT_EQ(Lines(SliceOf(profile, options)), Texts{"f 100"});
  options.time = TimePart::kSplit;
  EXPECT_EQ(Lines(SliceOf(profile, options)),
            (Texts{"f;[runqueue] 33", "f;[sleeping] 33", "f;[unsplit] 34"}));
}

TEST(Slice, PutsProcessAndThreadBetweenReasonAndStack) {
  ProfileFixture fixture;
  const auto thread = fixture.AddThread(1, 2, "Attach 12", "java");
  fixture.AddEntry(
      {.thread = thread, .user_stack = fixture.AddStack({UserFrame("f")}), .sleeping_ns = 1});
  SliceOptions options;
  options.stack = StackPart::kUser;
  options.reason_frames = ReasonFrames::kAlways;
  options.process_frames = true;
  options.thread_frames = ThreadFrames::kName;
  const profile::Profile profile = fixture.Build();
  EXPECT_EQ(Lines(SliceOf(profile, options)), Texts{"[offcpu: blocked];java;Attach 12;f 1"});
  options.thread_frames = ThreadFrames::kPool;
  EXPECT_EQ(Lines(SliceOf(profile, options)), Texts{"[offcpu: blocked];java;Attach #;f 1"});
}

TEST(Slice, TellsKindModuleAndReasonsOfWhatItMerged) {
  const profile::Profile profile = testing::WaitsProfile();
  SliceOptions options;
  options.stack = StackPart::kUser;
  options.reason_frames = ReasonFrames::kNever;
  const Slice slice = SliceOf(profile, options);
  for (const SliceLine& line : slice.lines) {
    Nanos sum = 0;
    for (const Nanos ns : line.reason_ns) sum += ns;
    EXPECT_EQ(sum, line.ns);
  }
  bool seen = false;
  for (const SliceText& text : slice.texts) {
    if (text.text != "epoll_wait") continue;
    seen = true;
    EXPECT_EQ(text.module, "libc.so.6");
    EXPECT_EQ(text.kind, TextKind::kUser);
  }
  EXPECT_TRUE(seen);
}

TEST(Slice, LosesNoTimeOnTheWay) {
  const profile::Profile profile = testing::LargeProfile();
  Nanos entries = 0;
  for (const profile::Entry& entry : profile.entries) entries += entry.observed_ns;
  const Slice slice = SliceOf(profile);
  Nanos lines = 0;
  for (const SliceLine& line : slice.lines) lines += line.ns;
  EXPECT_EQ(lines, entries);
  EXPECT_EQ(slice.kept.ns, entries);
  for (size_t i = 1; i < slice.lines.size(); ++i) {
    EXPECT_LT(LineText(slice, slice.lines[i - 1]), LineText(slice, slice.lines[i]));  // all ASCII
  }
}

}  // namespace
}  // namespace offcpu::analyze
