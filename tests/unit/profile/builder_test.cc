// SPDX-License-Identifier: MIT
#include "profile/builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "profile/canonical.h"
#include "profile/histogram.h"
#include "profile/profile_file.h"
#include "profile/validate.h"
#include "tests/support/busy_profile.h"
#include "tests/support/profile_fixture.h"

namespace offcpu::profile {
namespace {

using testing::BusyRecording;
using testing::KernelFrame;
using testing::UserFrame;

constexpr Nanos kMs = 1'000'000;
constexpr Nanos kStart = 1'000'000'000'000;

// As the canonical form has it.
Histogram Rounded(Histogram when) {
  Nanos sum = 0;
  for (const auto& [bucket, amount] : when) sum += amount;
  RoundWhen(&when, sum);
  return when;
}

// A recording of one process with two threads, drawn interval by interval; times are milliseconds
// from the start of the window.
class BuilderTest : public ::testing::Test {
 protected:
  BuilderTest() {
    names_[1] = {KernelFrame("do_syscall_64"), KernelFrame("schedule")};
    names_[2] = {UserFrame("main"), UserFrame("read")};
    names_[3] = {UserFrame("main"), UserFrame("read")};  // another address in the same function
    names_[4] = {UserFrame("main"), UserFrame("poll")};
    frame_.window_ns = 1000 * kMs;
  }

  static model::Interval Blocked(Nanos start_ms, Nanos end_ms) {
    model::Interval interval;
    interval.thread = 1;
    interval.reason = model::Reason::kBlocked;
    interval.task_state = model::kTaskInterruptible;
    interval.start = kStart + start_ms * kMs;
    interval.end = kStart + end_ms * kMs;
    interval.kernel_stack = 1;
    interval.user_stack = 2;
    interval.comm = model::MakeComm("worker");
    return interval;
  }

  void Add(const model::Interval& interval, Nanos runqueue = 0) {
    builder_->Add(interval, {interval.duration() - runqueue, runqueue, 0},
                  model::MakeComm("server"));
  }

  Profile Build() {
    std::vector<ThreadInput> threads(2);
    for (size_t i = 0; i < threads.size(); ++i) {
      Thread& t = threads[i].numbers;
      t.pid = t.inner_pid = 10;
      t.tid = t.inner_tid = 10 + static_cast<model::Tid>(i);
      t.last_ns = t.on_cpu_ns = frame_.window_ns;
      threads[i].comm = "worker";
      threads[i].process = "server";
    }
    Profile profile = builder_->Build(frame_, threads, [this](model::StackId id) {
      ++asked_[id];
      return names_.at(id);
    });
    const auto valid = ValidateProfile(profile);
    EXPECT_TRUE(valid) << valid.error().message;
    EXPECT_EQ(Canonicalize(profile), profile);
    return profile;
  }

  Entry BuildOne() {
    const Profile profile = Build();
    EXPECT_EQ(profile.entries.size(), 1U);
    return profile.entries.empty() ? Entry{} : profile.entries[0];
  }

  Profile frame_;
  std::map<model::StackId, std::vector<model::SymbolFrame>> names_;
  std::map<model::StackId, int> asked_;
  std::optional<Builder> builder_{Builder::Options{.window_start = kStart}};
};

TEST_F(BuilderTest, IntervalsOfOnePlaceAddUp) {
  Add(Blocked(10, 12), 500'000);
  Add(Blocked(20, 25), 500'000);
  Add(Blocked(30, 31));
  EXPECT_EQ(builder_->entry_count(), 1U);
  const Entry entry = BuildOne();
  EXPECT_EQ(entry.intervals, 3U);
  EXPECT_EQ(entry.observed_ns, 8 * kMs);
  EXPECT_EQ(entry.estimated_ns, 8 * kMs);
  EXPECT_EQ(entry.sleeping_ns, 7 * kMs);
  EXPECT_EQ(entry.runqueue_ns, 1 * kMs);
  EXPECT_EQ(entry.max_ns, 5 * kMs);
  EXPECT_EQ(entry.lengths, (Histogram{{19, 1}, {20, 1}, {22, 1}}));
}

TEST_F(BuilderTest, NamesThreadsAndWindowAreCarriedOver) {
  frame_.origin.host = "host";
  frame_.lost_events = 3;
  frame_.warnings = {"a warning"};
  Add(Blocked(10, 12));
  const Profile profile = Build();
  EXPECT_EQ(profile.origin.host, "host");
  EXPECT_EQ(profile.lost_events, 3U);
  EXPECT_EQ(profile.warnings.size(), 1U);
  ASSERT_EQ(profile.threads.size(), 3U);
  const Entry& entry = profile.entries.at(0);
  EXPECT_EQ(profile.threads[entry.thread].tid, 10);
  EXPECT_EQ(profile.String(entry.comm), "worker");
  EXPECT_EQ(profile.String(entry.process), "server");
  const auto frames = FramesOf(profile, entry.kernel_stack);
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(profile.String(profile.frames[frames[0]].name), "do_syscall_64");
}

TEST_F(BuilderTest, EachPartOfTheKeyKeepsEntriesApart) {
  const model::Interval base = Blocked(10, 12);
  Add(base);
  auto other = base;
  other.thread = 2;
  Add(other);
  other = base;
  other.user_stack = 4;
  Add(other);
  other = base;
  other.kernel_stack = 0;
  Add(other);
  other = base;
  other.reason = model::Reason::kPreempted;
  Add(other);
  other = base;
  other.task_state = model::kTaskUninterruptible;
  Add(other);
  other = base;
  other.comm = model::MakeComm("renamed");
  Add(other);
  builder_->Add(base, {2 * kMs, 0, 0}, model::MakeComm("other process"));
  EXPECT_EQ(builder_->entry_count(), 8U);
  EXPECT_EQ(Build().entries.size(), 8U);
}

TEST_F(BuilderTest, StacksOfEqualNamesBecomeOneEntryAndAreNamedOnce) {
  Add(Blocked(10, 12));
  auto other = Blocked(20, 23);
  other.user_stack = 3;
  Add(other);
  other.task_state = model::kTaskUninterruptible;
  Add(other);
  const Profile profile = Build();
  ASSERT_EQ(profile.entries.size(), 2U);
  EXPECT_EQ(profile.entries[0].intervals, 2U);
  EXPECT_EQ(profile.entries[0].observed_ns, 5 * kMs);
  EXPECT_EQ(asked_, (std::map<model::StackId, int>{{1, 1}, {2, 1}, {3, 1}}));
}

TEST_F(BuilderTest, AnAbsentStackStaysAbsent) {
  auto interval = Blocked(10, 12);
  interval.kernel_stack = interval.user_stack = 0;
  Add(interval);
  const Entry entry = BuildOne();
  EXPECT_EQ(entry.kernel_stack, 0U);
  EXPECT_EQ(entry.user_stack, 0U);
  EXPECT_TRUE(asked_.empty());
}

TEST_F(BuilderTest, OpenIntervalsAreCountedWithTheTimeBefore) {
  auto known = Blocked(0, 5);
  known.left_open = true;
  known.since = kStart - 70;
  Add(known);
  auto unknown = Blocked(0, 7);
  unknown.left_open = unknown.right_open = true;
  Add(unknown);
  auto wrong = Blocked(3, 7);  // began inside: nothing is before the window
  wrong.left_open = true;
  wrong.since = wrong.start + 1;
  Add(wrong);
  const Entry entry = BuildOne();
  EXPECT_EQ(entry.left_open, 3U);
  EXPECT_EQ(entry.right_open, 1U);
  EXPECT_EQ(entry.before_ns, 70U);
}

TEST_F(BuilderTest, AnIntervalOfNoLengthCounts) {
  Add(Blocked(1000, 1000));
  const Entry entry = BuildOne();
  EXPECT_EQ(entry.intervals, 1U);
  EXPECT_EQ(entry.lengths, (Histogram{{0, 1}}));
  EXPECT_TRUE(entry.when.empty());
}

///    0       16      32 ms   one interval, 4 to 18
///    |..======|=.......|
TEST_F(BuilderTest, TimeIsSpreadOverTheBucketsItTouches) {
  Add(Blocked(4, 18));
  const Profile profile = Build();
  EXPECT_EQ(profile.when_bucket_ns, 16 * kMs);
  EXPECT_EQ(profile.entries.at(0).when, Rounded({{0, 12 * kMs}, {1, 2 * kMs}}));
}

TEST_F(BuilderTest, BucketsGrowWithTheWindowAndKeepTheSum) {
  frame_.window_ns = 60'000 * kMs;
  for (Nanos i = 0; i < 97; ++i) Add(Blocked(613 * i, 613 * i + 250));  // folded on the way
  const Profile profile = Build();
  EXPECT_EQ(profile.when_bucket_ns, 512 * kMs);
  ASSERT_EQ(profile.entries.size(), 1U);
  Histogram expected;
  for (Nanos ms = 0; ms < 613 * 97; ++ms) {
    if (ms % 613 >= 250) continue;
    const auto bucket = static_cast<uint32_t>(ms / 512);
    if (expected.empty() || expected.back().first != bucket) expected.emplace_back(bucket, 0);
    expected.back().second += kMs;
  }
  EXPECT_EQ(profile.entries[0].when, Rounded(expected));
  EXPECT_EQ(profile.entries[0].observed_ns, 97 * 250 * kMs);
}

TEST_F(BuilderTest, EqualRecordingsOfOneLengthHaveEqualBuckets) {
  frame_.window_ns = 60'000 * kMs;
  Add(Blocked(10, 12));  // nothing near the end of the window
  EXPECT_EQ(Build().when_bucket_ns, 512 * kMs);
}

TEST_F(BuilderTest, LateShortIntervalsDoNotNeedTheirOrder) {
  Add(Blocked(500, 510));
  Add(Blocked(100, 110));
  Add(Blocked(305, 315));
  EXPECT_EQ(BuildOne().when, Rounded({{6, 10 * kMs}, {19, 10 * kMs}, {31, 10 * kMs}}));
}

TEST_F(BuilderTest, WhatComesAfterTheLimitJoinsOneEntryPerThreadReasonAndState) {
  builder_.emplace(Builder::Options{.window_start = kStart, .max_entries = 2});
  for (model::StackId stack : {1, 2, 3, 4}) {
    auto interval = Blocked(10 * stack, 10 * stack + 5);
    interval.kernel_stack = 0;
    interval.user_stack = stack;
    interval.comm = model::MakeComm("name" + std::to_string(stack));
    Add(interval);
    Add(interval);
  }
  auto other_state = Blocked(60, 61);
  other_state.task_state = model::kTaskUninterruptible;
  Add(other_state);
  EXPECT_EQ(builder_->entry_count(), 4U);
  const Profile profile = Build();
  ASSERT_EQ(profile.notes.size(), 1U);
  EXPECT_EQ(profile.notes[0], (Counter{"merged_intervals", 5, 21 * kMs}));
  ASSERT_EQ(profile.entries.size(), 4U);
  size_t joined = 0;
  for (const Entry& entry : profile.entries) {
    const auto frames = FramesOf(profile, entry.user_stack);
    if (profile.String(profile.frames[frames[0]].name) != "[too many stacks]") continue;
    ++joined;
    EXPECT_EQ(entry.kernel_stack, entry.user_stack);
    EXPECT_EQ(profile.frames[frames[0]].kind, FrameKind::kMarker);
    EXPECT_EQ(profile.String(entry.comm), "worker");
    const bool blocked = entry.task_state == model::kTaskInterruptible;
    EXPECT_EQ(entry.intervals, blocked ? 4U : 1U);
  }
  EXPECT_EQ(joined, 2U);
}

TEST_F(BuilderTest, StacksOfUnreasonableDepthAreCutAtTheRoot) {
  names_[2].assign(kMaxStackDepth + 5, UserFrame("recursion"));
  names_[2].push_back(UserFrame("leaf"));
  Add(Blocked(1, 2));
  const Profile profile = Build();
  const auto frames = FramesOf(profile, profile.entries.at(0).user_stack);
  ASSERT_EQ(frames.size(), kMaxStackDepth);
  EXPECT_EQ(profile.String(profile.frames[frames.front()].name), "[truncated stack]");
  EXPECT_EQ(profile.String(profile.frames[frames.back()].name), "leaf");
}

TEST(BusyBuilderTest, ALargeRecordingTakesAtMostOneMegabyte) {
  const BusyRecording recording;
  const Profile profile = recording.Build();
  EXPECT_GT(profile.entries.size(), 12'800U);
  uint64_t intervals = 0;
  Nanos observed = 0;
  for (const Entry& entry : profile.entries) {
    intervals += entry.intervals;
    observed += entry.observed_ns;
  }
  EXPECT_EQ(intervals, recording.items().size());
  Nanos expected = 0;
  for (const auto& item : recording.items()) expected += item.interval.duration();
  EXPECT_EQ(observed, expected);
  const std::string bytes = SerializeProfile(profile);
  EXPECT_LE(bytes.size(), 1'000'000U);
  const auto read = ParseProfile(std::as_bytes(std::span(bytes)), "busy");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(*read == profile);
}

TEST(BusyBuilderTest, TheSameRecordingGivesTheSameBytes) {
  EXPECT_TRUE(SerializeProfile(BusyRecording().Build()) ==
              SerializeProfile(BusyRecording().Build()));
}

}  // namespace
}  // namespace offcpu::profile
