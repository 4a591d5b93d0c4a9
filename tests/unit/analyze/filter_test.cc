// SPDX-License-Identifier: MIT
#include "analyze/filter.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "analyze/frame_text.h"
#include "tests/support/profile_fixture.h"
#include "tests/support/wait_profiles.h"

namespace offcpu::analyze {
namespace {

void AddPattern(std::vector<Pattern>& patterns, std::string_view text) {
  Result<Pattern> pattern = Pattern::Compile(text);
  ASSERT_TRUE(pattern) << text;
  patterns.push_back(std::move(*pattern));
}

// The nanoseconds that identify the entries of testing::FiltersProfile().
constexpr Nanos kPoll = 3000;
constexpr Nanos kPark = 2000;
constexpr Nanos kSpin = 500;

class FilterTest : public ::testing::Test {
 protected:
  // The kept entries by their time, the longest first.
  std::vector<Nanos> Kept() {
    const Result<Filter> filter = Filter::Create(profile_, FrameTexts(profile_), selection_);
    EXPECT_TRUE(filter);
    std::vector<Nanos> kept;
    for (const profile::Entry& entry : profile_.entries) {
      if (filter && filter->Keep(entry)) kept.push_back(entry.observed_ns);
    }
    std::sort(kept.rbegin(), kept.rend());
    return kept;
  }

  const profile::Profile profile_ = testing::FiltersProfile();
  Selection selection_;
};

using Times = std::vector<Nanos>;

TEST_F(FilterTest, KeepsEverythingByDefault) { EXPECT_EQ(Kept(), (Times{kPoll, kPark, kSpin})); }

TEST_F(FilterTest, SearchesBothStacksAsRendered) {
  AddPattern(selection_.exclude, "^ep_poll_\\[k\\]$");
  EXPECT_EQ(Kept(), (Times{kPark, kSpin}));
  selection_.exclude.clear();
  AddPattern(selection_.exclude, "^epoll_wait$");
  EXPECT_EQ(Kept(), (Times{kPark, kSpin}));
}

TEST_F(FilterTest, SearchesThePlaceholderOfAMissingStack) {
  AddPattern(selection_.exclude, "user stack unavailable");
  EXPECT_EQ(Kept(), (Times{kPoll, kSpin}));
}

TEST_F(FilterTest, KeepsWhatAnyIncludePatternFinds) {
  AddPattern(selection_.include, "futex");
  AddPattern(selection_.include, "sched_yield$");
  EXPECT_EQ(Kept(), (Times{kPark, kSpin}));
}

TEST_F(FilterTest, LetsExcludeWinOverInclude) {
  AddPattern(selection_.include, "Thread::run");
  AddPattern(selection_.exclude, "Thread::run");
  EXPECT_EQ(Kept(), Times{});
}

TEST_F(FilterTest, SelectsReasonsAndTellsThemFromFilters) {
  selection_.reasons = {false, false, true, false};
  EXPECT_EQ(Kept(), Times{kSpin});
  const Result<Filter> filter = Filter::Create(profile_, FrameTexts(profile_), selection_);
  ASSERT_TRUE(filter);
  for (const profile::Entry& entry : profile_.entries) {
    EXPECT_EQ(filter->Selected(entry), entry.reason == model::Reason::kRunnable);
  }
}

TEST_F(FilterTest, SelectsThreadsByIdAndName) {
  selection_.tids = {1};
  EXPECT_EQ(Kept(), Times{kPoll});
  selection_.tids = {};
  selection_.pids = {2};  // the tid of a thread, but of no process
  EXPECT_EQ(Kept(), Times{});
  selection_.pids = {1};
  EXPECT_EQ(Kept().size(), 3);
  AddPattern(selection_.comms, "^work");
  EXPECT_EQ(Kept(), (Times{kPark, kSpin}));
}

TEST_F(FilterTest, AddsThreadsToProcesses) {
  selection_.pids = {99};
  selection_.tids = {1};
  EXPECT_EQ(Kept(), Times{kPoll});
}

TEST_F(FilterTest, SelectsTaskStates) {
  selection_.states = *sched::StateFilter::Parse("R");
  EXPECT_EQ(Kept(), Times{kSpin});
  selection_.states = *sched::StateFilter::Parse("S");
  EXPECT_EQ(Kept(), (Times{kPoll, kPark}));
}

TEST_F(FilterTest, FailsWhenAPatternIsTooCostly) {
  testing::ProfileFixture fixture;
  const auto thread = fixture.AddThread(1, 1, "a", "a");
  fixture.AddEntry(
      {.thread = thread,
       .user_stack = fixture.AddStack({testing::UserFrame(std::string(100, 'a') + 'b')}),
       .sleeping_ns = 1});
  const profile::Profile profile = fixture.Build();
  AddPattern(selection_.include, "^(a|aa)+$");
  EXPECT_FALSE(Filter::Create(profile, FrameTexts(profile), selection_));
}

TEST_F(FilterTest, DoesNotMissTheUserStackOfAKernelThread) {
  const profile::Profile waits = testing::WaitsProfile();
  AddPattern(selection_.include, "stack unavailable");
  const Result<Filter> filter = Filter::Create(waits, FrameTexts(waits), selection_);
  ASSERT_TRUE(filter);
  for (const profile::Entry& entry : waits.entries) EXPECT_FALSE(filter->Keep(entry));
}

}  // namespace
}  // namespace offcpu::analyze
