// SPDX-License-Identifier: MIT
#include "output/flame_slice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "analyze/filter.h"
#include "analyze/frame_text.h"
#include "tests/support/profile_fixture.h"

namespace offcpu::output {
namespace {

using model::Reason;
using profile::NodeId;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::KernelFrame;
using testing::MarkerFrame;
using testing::ProfileFixture;
using testing::UserFrame;

constexpr Nanos kMs = 1'000'000;

class FlameSliceTest : public ::testing::Test {
 protected:
  FlameSliceTest() { fixture_.profile().origin.target = "pid 4711"; }

  void Waits(NodeId user, NodeId kernel, Nanos ns, Reason reason = Reason::kBlocked) {
    fixture_.AddEntry({.thread = thread_,
                       .user_stack = user,
                       .kernel_stack = kernel,
                       .unsplit_ns = ns,
                       .reason = reason});
  }
  NodeId User(const char* name) { return fixture_.AddStack({UserFrame(name)}); }
  NodeId Kernel(const char* name) { return fixture_.AddStack({KernelFrame(name)}); }

  // The picture of what `selection` keeps.
  void Draw(const analyze::Selection& selection = {}, const analyze::SliceOptions& how = {}) {
    const profile::Profile profile = fixture_.Build();
    const std::vector<std::string> texts = analyze::FrameTexts(profile);
    auto filter = analyze::Filter::Create(profile, texts, selection);
    ASSERT_TRUE(filter) << filter.error().message;
    auto slice = analyze::BuildSlice(profile, texts, *filter, how);
    ASSERT_TRUE(slice) << slice.error().message;
    slice_ = std::move(*slice);
    tree_ = TreeOfSlice(slice_);
    options_ = DescribeSlice(profile, slice_, how);
  }

  // Names from the root to the leaf of the first tower.
  std::vector<std::string> FirstTower() const {
    std::vector<std::string> names;
    const FlameTree::Node* node = &tree_.root();
    while (!node->children.empty()) {
      node = &tree_.nodes()[node->children.begin()->second];
      names.emplace_back(node->frame.name);
    }
    return names;
  }

  ProfileFixture fixture_;
  const profile::ThreadId thread_ = fixture_.AddThread(4711, 4711, "app", "app");
  analyze::Slice slice_;
  FlameTree tree_;
  FlamegraphOptions options_;
};

TEST_F(FlameSliceTest, UserFramesStandBelowKernelFrames) {
  Waits(fixture_.AddStack({UserFrame("main"), UserFrame("read")}),
        fixture_.AddStack({KernelFrame("entry_SYSCALL_64"), KernelFrame("schedule")}), kMs);
  Draw();
  EXPECT_EQ(FirstTower(),
            (std::vector<std::string>{"main", "read", "entry_SYSCALL_64_[k]", "schedule_[k]"}));
}

TEST_F(FlameSliceTest, TruncatedStacksAreATowerOfTheirOwnAndTheirShareIsPrinted) {
  Waits(fixture_.AddStack({MarkerFrame("[truncated stack]"), UserFrame("f300")}), 0, kMs);
  Waits(User("main"), 0, 3 * kMs);
  Draw({}, {.stack = analyze::StackPart::kUser});
  EXPECT_EQ(FirstTower(), (std::vector<std::string>{"[truncated stack]", "f300"}));
  EXPECT_EQ(tree_.nodes()[tree_.root().children.begin()->second].frame.kind, FlameKind::kMarker);
  EXPECT_THAT(options_.notes, Contains(HasSubstr("[truncated stack]: 1.00 ms, 25.0 % of all")));
}

TEST_F(FlameSliceTest, IntervalsWithoutAStackKeepTheirTimeUnderAMarker) {
  Waits(0, Kernel("schedule"), kMs);
  Draw();
  EXPECT_EQ(FirstTower(), (std::vector<std::string>{"[user stack unavailable]", "schedule_[k]"}));
  EXPECT_EQ(tree_.root().total_ns, kMs);
  EXPECT_THAT(options_.notes, Contains(HasSubstr("[user stack unavailable]: 1.00 ms, 100.0 %")));
}

TEST_F(FlameSliceTest, ReasonsKeepTheirTimeInEachFrame) {
  const profile::NodeId user = User("main");
  Waits(user, 0, kMs, Reason::kBlocked);
  Waits(user, 0, 2 * kMs, Reason::kRunnable);
  Draw({}, {.stack = analyze::StackPart::kUser, .reason_frames = analyze::ReasonFrames::kNever});
  const FlameTree::Node& main = tree_.nodes().at(1);
  EXPECT_EQ(main.frame.name, "main");
  EXPECT_EQ(main.total_ns, 3 * kMs);
  EXPECT_EQ(main.reason_ns, (FlameTree::Weights{0, kMs, 2 * kMs, 0}));
}

TEST_F(FlameSliceTest, WhatWasRecordedStandsInTheHead) {
  Waits(User("main"), 0, kMs);
  Draw();
  EXPECT_EQ(options_.title, "Off-CPU time of pid 4711");
  EXPECT_EQ(options_.subtitle, "10.0 s recorded, back end perf, reasons blocked");
  EXPECT_EQ(options_.measure, "time off the CPU");
}

TEST_F(FlameSliceTest, WhatIsMissingStandsBelowWithCountAndTime) {
  Waits(User("main"), Kernel("schedule"), kMs);
  Waits(User("idle"), Kernel("schedule"), 2 * kMs);
  fixture_.profile().lost_events = 7;
  fixture_.profile().losses = {{.cpu = 0, .from_ns = 1, .to_ns = 2, .events = 7}};
  fixture_.profile().rejected = {{.name = "min_off_cpu", .count = 5, .ns = 4 * kMs}};
  fixture_.profile().warnings = {"kernel addresses are hidden"};
  analyze::Selection selection;
  selection.exclude.push_back(std::move(*analyze::Pattern::Compile("^idle$")));
  Draw(selection);
  EXPECT_THAT(options_.notes, Contains(HasSubstr("7 lost events in 1 spans")));
  EXPECT_THAT(options_.notes, Contains(HasSubstr("5 rejected intervals, 4.00 ms")));
  EXPECT_THAT(options_.notes, Contains("Left out by the filters: 1 interval, 2.00 ms"));
  EXPECT_THAT(options_.notes, Contains("kernel addresses are hidden"));
}

TEST_F(FlameSliceTest, TimeOfOtherReasonsIsCounted) {
  Waits(User("main"), Kernel("schedule"), kMs);
  Waits(User("main"), Kernel("schedule"), 2 * kMs, Reason::kRunnable);
  analyze::Selection selection;
  selection.reasons = {false, true, false, false};
  Draw(selection);
  EXPECT_THAT(options_.notes, Contains("Of reasons that are not selected: 1 interval, 2.00 ms"));
}

TEST_F(FlameSliceTest, ACompletePictureHasNoNotes) {
  Waits(User("main"), Kernel("schedule"), kMs);
  Draw();
  EXPECT_THAT(options_.notes, IsEmpty());
}

TEST_F(FlameSliceTest, AnEmptyPictureSaysWhyItIsEmpty) {
  Draw();
  EXPECT_THAT(options_.empty_text, HasSubstr("the recording holds no interval"));
  Waits(User("main"), 0, kMs);
  analyze::Selection selection;
  selection.exclude.push_back(std::move(*analyze::Pattern::Compile("main")));
  Draw(selection);
  EXPECT_THAT(options_.empty_text, HasSubstr("the filters left out every interval"));
  selection.reasons = {false, false, false, true};
  Draw(selection);
  EXPECT_THAT(options_.empty_text, HasSubstr("no interval has a selected reason"));
  Draw({}, {.time = analyze::TimePart::kSleeping});
  EXPECT_THAT(options_.empty_text, HasSubstr("no interval has time of this kind"));
  EXPECT_EQ(tree_.root().total_ns, 0U);
}

TEST_F(FlameSliceTest, EntriesOfNoTimeAreLeftOutAndCounted) {
  Waits(User("main"), 0, 0);
  Waits(User("other"), 0, kMs);
  Draw();
  EXPECT_EQ(FirstTower().front(), "other");
  EXPECT_THAT(options_.notes, Contains("Without time of this kind, so not drawn: 1 interval"));
}

}  // namespace
}  // namespace offcpu::output
