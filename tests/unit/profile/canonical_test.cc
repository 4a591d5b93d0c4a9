// SPDX-License-Identifier: MIT
#include "profile/canonical.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "profile/histogram.h"
#include "profile/profile_file.h"
#include "profile/validate.h"
#include "tests/support/profile_fixture.h"

namespace offcpu::profile {
namespace {

using testing::KernelFrame;
using testing::MarkerFrame;
using testing::ProfileFixture;
using testing::SampleProfile;
using testing::UserFrame;

constexpr Nanos kMs = 1'000'000;

// Frame names of each entry's user stack, leaf only.
std::vector<std::string> Leaves(const Profile& profile) {
  std::vector<std::string> leaves;
  for (const Entry& entry : profile.entries) {
    const FrameId frame = profile.nodes[entry.user_stack].frame;
    leaves.emplace_back(profile.String(profile.frames[frame].name));
  }
  return leaves;
}

// The same content with its rows in another order and other numbers, a few of them unused or twice.
Profile Shuffled(const Profile& profile, unsigned seed) {
  std::mt19937 random(seed);
  Profile out = profile;
  out.strings.assign({"", "unused", "unused"});
  out.frames.assign({Frame{}, Frame{FrameKind::kUser, false, 1, 2}});
  out.nodes.assign({StackNode{}, StackNode{0, 1}});
  const auto add_string = [&](StringId id) -> StringId {
    if (id == 0) return 0;
    out.strings.emplace_back(profile.String(id));
    return static_cast<StringId>(out.strings.size() - 1);
  };
  const auto add_stack = [&](NodeId id) {
    NodeId node = 0;
    for (const FrameId frame : FramesOf(profile, id)) {
      const Frame& f = profile.frames[frame];
      out.frames.push_back({f.kind, f.inlined, add_string(f.name), add_string(f.module)});
      out.nodes.push_back({node, static_cast<FrameId>(out.frames.size() - 1)});
      node = static_cast<NodeId>(out.nodes.size() - 1);
    }
    return node;
  };
  std::vector<ThreadId> threads;
  for (ThreadId id = 1; id < profile.threads.size(); ++id) threads.push_back(id);
  std::shuffle(threads.begin(), threads.end(), random);
  std::vector<ThreadId> new_ids(profile.threads.size());
  out.threads.resize(1);
  for (const ThreadId old : threads) {
    new_ids[old] = static_cast<ThreadId>(out.threads.size());
    Thread& thread = out.threads.emplace_back(profile.threads[old]);
    thread.comm = add_string(thread.comm);
    thread.process = add_string(thread.process);
  }
  std::shuffle(out.entries.begin(), out.entries.end(), random);
  for (Entry& entry : out.entries) {
    entry.thread = new_ids[entry.thread];
    entry.comm = add_string(entry.comm);
    entry.process = add_string(entry.process);
    entry.user_stack = add_stack(entry.user_stack);
    entry.kernel_stack = add_stack(entry.kernel_stack);
  }
  return out;
}

TEST(CanonicalTest, ACanonicalProfileStaysAsItIs) {
  const Profile sample = SampleProfile();
  EXPECT_EQ(Canonicalize(sample), sample);
  const auto valid = ValidateProfile(sample);
  EXPECT_TRUE(valid) << valid.error().message;
}

TEST(CanonicalTest, NumbersAndOrderOfTheInputDoNotShow) {
  const Profile sample = SampleProfile();
  for (unsigned seed = 0; seed < 50; ++seed) {
    const Profile again = Canonicalize(Shuffled(sample, seed));
    ASSERT_EQ(again, sample);
    ASSERT_EQ(SerializeProfile(again), SerializeProfile(sample));
  }
}

TEST(CanonicalTest, EqualEntriesAreMerged) {
  ProfileFixture fixture;
  const auto thread = fixture.AddThread(1, 1, "a", "a");
  const auto stack = fixture.AddStack({UserFrame("f")});
  auto& first = fixture.AddEntry({.thread = thread,
                                  .user_stack = stack,
                                  .sleeping_ns = 200 * kMs,
                                  .runqueue_ns = 40 * kMs,
                                  .intervals = 2,
                                  .at_ns = 0});
  first.left_open = 1;
  first.before_ns = 7;
  auto& second = fixture.AddEntry({.thread = thread,
                                   .user_stack = stack,
                                   .sleeping_ns = 90 * kMs,
                                   .unsplit_ns = 8 * kMs,
                                   .at_ns = 200 * kMs});
  second.right_open = 1;
  const Profile profile = fixture.Build();
  ASSERT_EQ(profile.entries.size(), 1U);
  const Entry& entry = profile.entries[0];
  EXPECT_EQ(entry.intervals, 3U);
  EXPECT_EQ(entry.left_open, 1U);
  EXPECT_EQ(entry.right_open, 1U);
  EXPECT_EQ(entry.before_ns, 7U);
  EXPECT_EQ(entry.observed_ns, 338 * kMs);
  EXPECT_EQ(entry.estimated_ns, 338 * kMs);
  EXPECT_EQ(entry.sleeping_ns, 290 * kMs);
  EXPECT_EQ(entry.runqueue_ns, 40 * kMs);
  EXPECT_EQ(entry.unsplit_ns, 8 * kMs);
  EXPECT_EQ(entry.max_ns, 120 * kMs);
  EXPECT_EQ(entry.lengths, (Histogram{{26, 3}}));
  ASSERT_EQ(profile.when_bucket_ns, 128 * kMs);
  ASSERT_EQ(entry.when.size(), 3U);  // 128 ms, 112 + 56 ms, 42 ms, each within a 512th of the sum
  EXPECT_NEAR(static_cast<double>(entry.when[0].second), 128e6, 338e6 / 512);
  EXPECT_NEAR(static_cast<double>(entry.when[1].second), 168e6, 338e6 / 512);
  EXPECT_EQ(entry.when[0].second + entry.when[1].second + entry.when[2].second, 338 * kMs);
}

TEST(CanonicalTest, EntriesThatDifferInAnyPartOfTheKeyStayApart) {
  ProfileFixture fixture;
  const auto a = fixture.AddThread(1, 1, "a", "a");
  const auto b = fixture.AddThread(1, 2, "a", "a");
  const auto f = fixture.AddStack({UserFrame("f")});
  const auto g = fixture.AddStack({UserFrame("f", "other")});
  const auto k = fixture.AddStack({KernelFrame("f")});
  fixture.AddEntry({.thread = a});
  fixture.AddEntry({.thread = b});
  fixture.AddEntry({.thread = a, .user_stack = f});
  fixture.AddEntry({.thread = a, .user_stack = g});
  fixture.AddEntry({.thread = a, .kernel_stack = k});
  fixture.AddEntry({.thread = a, .reason = model::Reason::kRunnable});
  fixture.AddEntry({.thread = a, .task_state = model::kTaskUninterruptible});
  fixture.AddEntry({.thread = a}).comm = fixture.AddString("b");
  fixture.AddEntry({.thread = a}).process = fixture.AddString("b");
  EXPECT_EQ(fixture.Build().entries.size(), 9U);
}

TEST(CanonicalTest, StacksAreOrderedFrameByFrameFromTheRoot) {
  ProfileFixture fixture;
  const auto thread = fixture.AddThread(1, 1, "a", "a");
  const auto add = [&](std::initializer_list<model::SymbolFrame> frames) {
    fixture.AddEntry({.thread = thread, .user_stack = fixture.AddStack(frames)});
  };
  add({UserFrame("z")});
  add({UserFrame("b"), UserFrame("a3")});
  add({UserFrame("b", "zlib"), UserFrame("a4")});
  add({UserFrame("a"), UserFrame("z", "a"), UserFrame("a2")});
  add({UserFrame("a"), UserFrame("z", "a")});
  add({UserFrame("a")});
  add({});
  add({UserFrame("\xff")});
  EXPECT_EQ(Leaves(fixture.Build()),
            (std::vector<std::string>{"", "a", "z", "a2", "a3", "a4", "z", "\xff"}));
}

TEST(CanonicalTest, KindAndInliningOrderFramesOfOneName) {
  ProfileFixture fixture;
  const auto thread = fixture.AddThread(1, 1, "a", "a");
  model::SymbolFrame inlined = UserFrame("f", "");
  inlined.inlined = true;
  model::SymbolFrame jit = UserFrame("f", "");
  jit.kind = FrameKind::kJit;
  for (const auto& frame :
       {MarkerFrame("f"), jit, inlined, UserFrame("f", ""), KernelFrame("f", "")}) {
    fixture.AddEntry({.thread = thread, .user_stack = fixture.AddStack({frame})});
  }
  const Profile profile = fixture.Build();
  std::vector<std::pair<FrameKind, bool>> order;
  for (const Entry& entry : profile.entries) {
    const Frame& frame = profile.frames[profile.nodes[entry.user_stack].frame];
    order.emplace_back(frame.kind, frame.inlined);
  }
  EXPECT_EQ(order, (std::vector<std::pair<FrameKind, bool>>{{FrameKind::kKernel, false},
                                                            {FrameKind::kUser, false},
                                                            {FrameKind::kUser, true},
                                                            {FrameKind::kJit, false},
                                                            {FrameKind::kMarker, false}}));
}

TEST(CanonicalTest, ThreadsAreOrderedByBeginningPidTid) {
  ProfileFixture fixture(100);
  const auto add = [&](model::Pid pid, model::Tid tid, Nanos first) {
    Thread& thread = fixture.profile().threads[fixture.AddThread(pid, tid, "a", "a")];
    thread.first_ns = first;
    thread.on_cpu_ns -= first;
  };
  add(7, 9, 5);
  add(8, 8, 0);
  add(7, 10, 0);
  add(7, 9, 0);
  std::vector<std::pair<Nanos, model::Tid>> order;
  for (const Thread& thread : fixture.Build().threads) {
    order.emplace_back(thread.first_ns, thread.tid);
  }
  EXPECT_EQ(order,
            (std::vector<std::pair<Nanos, model::Tid>>{{0, 0}, {0, 9}, {0, 10}, {0, 8}, {5, 9}}));
}

TEST(CanonicalTest, ThreadsWithoutEntriesAreKeptAndUnusedNamesAreNot) {
  ProfileFixture fixture;
  fixture.AddString("unused");
  fixture.AddStack({UserFrame("unused too")});
  fixture.AddThread(1, 1, "a", "b");
  const Profile profile = fixture.Build();
  EXPECT_EQ(profile.threads.size(), 2U);
  EXPECT_EQ(profile.strings, (std::vector<std::string>{"", "a", "b"}));
  EXPECT_EQ(profile.frames.size(), 1U);
  EXPECT_EQ(profile.nodes.size(), 1U);
}

TEST(CanonicalTest, StacksShareTheirBeginnings) {
  ProfileFixture fixture;
  const auto thread = fixture.AddThread(1, 1, "a", "a");
  for (const char* leaf : {"x", "y", "z"}) {
    fixture.AddEntry(
        {.thread = thread,
         .user_stack = fixture.AddStack({UserFrame("main"), UserFrame("run"), UserFrame(leaf)})});
  }
  EXPECT_EQ(fixture.Build().nodes.size(), 1U + 2 + 3);
}

TEST(CanonicalTest, LongTextsAreCut) {
  ProfileFixture fixture;
  fixture.AddThread(1, 1, std::string(kMaxTextBytes + 1, 'x'), "a");
  fixture.profile().origin.command.assign(3 * kMaxTextBytes, 'y');
  const Profile profile = fixture.Build();
  EXPECT_EQ(profile.String(profile.threads[1].comm).size(), kMaxTextBytes);
  EXPECT_EQ(profile.origin.command.size(), kMaxTextBytes);
  EXPECT_TRUE(ValidateProfile(profile));
}

TEST(HistogramTest, RoundingKeepsTheSumAndIsDoneOnce) {
  std::mt19937 random(1);
  for (int round = 0; round < 1000; ++round) {
    Histogram exact;
    Nanos sum = 0;
    for (uint32_t bucket = 0; bucket < kMaxWhenBuckets; bucket += 1 + random() % 20) {
      exact.emplace_back(bucket, 1 + random() % (1U << random() % 31));
      sum += exact.back().second;
    }
    Histogram rounded = exact;
    RoundWhen(&rounded, sum);
    Nanos rounded_sum = 0;
    for (const auto& [bucket, amount] : rounded) {
      ASSERT_GT(amount, 0U);
      rounded_sum += amount;
    }
    ASSERT_EQ(rounded_sum, sum);
    Histogram again = rounded;
    RoundWhen(&again, sum);
    ASSERT_EQ(again, rounded);
  }
}

TEST(HistogramTest, AWindowNeedsAtMostAHundredAndTwentyBuckets) {
  EXPECT_EQ(WhenShift(0), 0U);
  EXPECT_EQ(WhenShift(120 * kMs), 0U);
  EXPECT_EQ(WhenShift(120 * kMs + 1), 1U);
  EXPECT_EQ(WhenShift(240 * kMs), 1U);
  EXPECT_EQ(WhenShift(60'000 * kMs), 9U);
  EXPECT_LT((~Nanos{0} / kMinWhenBucket) >> WhenShift(~Nanos{0}), kMaxWhenBuckets);
}

TEST(HistogramTest, LengthsCountPowersOfTwo) {
  EXPECT_EQ(LengthBucket(0), 0U);
  EXPECT_EQ(LengthBucket(1), 0U);
  EXPECT_EQ(LengthBucket(2), 1U);
  EXPECT_EQ(LengthBucket(1023), 9U);
  EXPECT_EQ(LengthBucket(1024), 10U);
  EXPECT_EQ(LengthBucket(~Nanos{0}), 63U);
}

}  // namespace
}  // namespace offcpu::profile
