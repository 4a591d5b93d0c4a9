// SPDX-License-Identifier: MIT
#include "profile/validate.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "profile/canonical.h"
#include "profile/encode.h"
#include "profile/profile_file.h"
#include "tests/support/profile_fixture.h"

namespace offcpu::profile {
namespace {

using testing::SampleProfile;

// What is wrong with the sample after a change, "" when nothing is. The file's reader must see it,
// too, whatever it calls it.
std::string FaultAfter(const std::function<void(Profile&)>& change) {
  Profile profile = SampleProfile();
  change(profile);
  const auto valid = ValidateProfile(profile);
  return valid ? std::string() : valid.error().message;
}

std::string FaultInFile(const std::function<void(Profile&)>& change) {
  Profile profile = SampleProfile();
  change(profile);
  const std::string bytes = EncodeProfile(profile);
  const auto read = ParseProfile(std::as_bytes(std::span(bytes)), "x");
  return read ? std::string() : read.error().message;
}

struct Case {
  std::string fault;
  std::function<void(Profile&)> change;
};

class Row : public ::testing::TestWithParam<Case> {};

TEST_P(Row, ThatBreaksARuleIsFoundInTheValueAndInTheFile) {
  EXPECT_EQ(FaultAfter(GetParam().change), GetParam().fault);
  EXPECT_NE(FaultInFile(GetParam().change), "");
}

size_t MultipleIntervals(const Profile& p) {
  size_t i = 0;
  while (p.entries[i].intervals == 1 || p.entries[i].when.size() < 3) ++i;
  return i;
}
Entry& Many(Profile& p) { return p.entries[MultipleIntervals(p)]; }
std::string ManyIs(const std::string& fault) {
  return "entry " + std::to_string(MultipleIntervals(SampleProfile()) + 1) + " " + fault;
}
ThreadId Plain(const Profile& p) {
  ThreadId i = 1;
  while (p.threads[i].tid == 0) ++i;
  return i;
}
std::string PlainIs(const std::string& fault) {
  return "thread " + std::to_string(Plain(SampleProfile())) + " " + fault;
}

INSTANTIATE_TEST_SUITE_P(
    ValidateTest, Row,
    ::testing::Values(
        Case{PlainIs("has times that do not add up to its life"),
             [](Profile& p) { ++p.threads[Plain(p)].on_cpu_ns; }},
        Case{PlainIs("has times that do not add up to its life"),
             [](Profile& p) {
               Thread& thread = p.threads[Plain(p)];  // the sum is right modulo 2^64
               thread.unknown_ns = ~Nanos{0};
               ++thread.on_cpu_ns;
             }},
        Case{PlainIs("lives beyond the window"),
             [](Profile& p) {
               ++p.threads[Plain(p)].last_ns;
               ++p.threads[Plain(p)].on_cpu_ns;
             }},
        Case{PlainIs("ends before it begins"),
             [](Profile& p) { p.threads[Plain(p)].first_ns = p.window_ns + 1; }},
        Case{PlainIs("stands for one thread and for several"),
             [](Profile& p) { p.threads[Plain(p)].merged_threads = 2; }},
        Case{ManyIs("has parts that do not add up to its time"),
             [](Profile& p) {
               // In the file sleeping is what is left: only more than the whole can be told.
               Many(p).sleeping_ns = 0;
               Many(p).runqueue_ns = ~Nanos{0};
             }},
        Case{ManyIs("has a longest interval that its time rules out"),
             [](Profile& p) { Many(p).max_ns = Many(p).observed_ns + 1; }},
        Case{ManyIs("has a longest interval that its time rules out"),
             [](Profile& p) { Many(p).max_ns = Many(p).observed_ns / Many(p).intervals - 1; }},
        Case{ManyIs("has more open intervals than intervals"),
             [](Profile& p) { Many(p).right_open = Many(p).intervals + 1; }},
        Case{ManyIs("has a time line that does not add up to its time"),
             [](Profile& p) { Many(p).when[0].second *= 2; }},
        Case{ManyIs("has a time line beyond the window"),
             [](Profile& p) { Many(p).when.back().first = 119; }},
        Case{"totals that are too large",
             [](Profile& p) {
               for (Entry& e : p.entries) {
                 if (e.left_open != 0) e.before_ns = ~Nanos{0};
               }
               for (Entry& e : p.entries) {
                 if (e.left_open != 0) continue;
                 e.left_open = e.before_ns = 1;
                 break;
               }
             }},
        Case{"a time line of more than 120 buckets", [](Profile& p) { p.when_bucket_ns /= 2; }},
        Case{"loss 1 ends before it begins",
             [](Profile& p) { p.losses[0].from_ns = p.losses[0].to_ns + 1; }},
        Case{"a string stands twice", [](Profile& p) { p.strings[2] = p.strings[1]; }},
        Case{"a frame stands twice", [](Profile& p) { p.frames[2] = p.frames[1]; }},
        Case{"a text of more than 65536 bytes",
             [](Profile& p) { p.origin.host.assign(kMaxTextBytes + 1, 'x'); }},
        Case{"frame 1 is of an unknown kind",
             [](Profile& p) { p.frames[1].kind = static_cast<FrameKind>(5); }},
        Case{"thread 3 is out of order",
             [](Profile& p) { std::swap(p.threads[2].pid, p.threads[3].pid); }},
        Case{"entry 2 is out of order",
             [](Profile& p) { std::swap(p.entries[0], p.entries[1]); }}));

// These can't be told in the file's way of writing, or not without another fault before.
TEST(ValidateTest, FaultsOfTheValueAloneAreFound) {
  EXPECT_EQ(FaultAfter([](Profile& p) { Many(p).intervals = 0; }), ManyIs("has no intervals"));
  EXPECT_EQ(FaultAfter([](Profile& p) { ++Many(p).lengths[0].second; }),
            ManyIs("has lengths that do not add up to its intervals"));
  EXPECT_EQ(FaultAfter([](Profile& p) { ++Many(p).lengths.back().first; }),
            ManyIs("has lengths that its longest interval rules out"));
  EXPECT_EQ(FaultAfter([](Profile& p) { ++Many(p).estimated_ns; }),
            ManyIs("has an estimate, but nothing was sampled"));
  EXPECT_EQ(FaultAfter([](Profile& p) {
              --Many(p).when[0].second;
              ++Many(p).when[1].second;
            }),
            ManyIs("has a time line that is not rounded"));
  EXPECT_EQ(FaultAfter([](Profile& p) { p.entries[0].thread = 99; }),
            "entry 1 has an unknown thread");
  EXPECT_EQ(FaultAfter([](Profile& p) { p.entries[0].user_stack = 9999; }),
            "entry 1 has an unknown stack");
  EXPECT_EQ(FaultAfter([](Profile& p) { p.entries[0].comm = 9999; }),
            "entry 1 has an unknown string");
  EXPECT_EQ(FaultAfter([](Profile& p) { p.nodes[1].parent = 1; }),
            "stack node 1 has an unknown parent");
  EXPECT_EQ(FaultAfter([](Profile& p) { p.nodes[1].frame = 0; }),
            "stack node 1 has an unknown frame");
  EXPECT_EQ(FaultAfter([](Profile& p) { p.strings.clear(); }), "element 0 is missing");
  EXPECT_EQ(FaultAfter([](Profile& p) {
              p.nodes.push_back({0, p.nodes[1].frame});  // beside the first, which begins a path
            }),
            "stack node " + std::to_string(SampleProfile().nodes.size()) + " stands twice");
}

TEST(ValidateTest, AProfileWithoutTimeLinesIsValid) {
  const auto drop = [](Profile& p) {
    p.when_bucket_ns = 0;
    for (Entry& entry : p.entries) entry.when.clear();
  };
  EXPECT_EQ(FaultAfter(drop), "");
  EXPECT_EQ(FaultInFile(drop), "");
}

TEST(ValidateTest, StacksOfAnyReasonableDepthAreTakenAndDeeperOnesAreNot) {
  const auto deep = [](size_t depth) {
    testing::ProfileFixture fixture;
    const auto thread = fixture.AddThread(1, 1, "a", "a");
    NodeId node = 0;
    Interner interner(&fixture.profile());
    const FrameId frame = interner.AddFrame(testing::UserFrame("f"));
    for (size_t i = 0; i < depth; ++i) node = interner.AddNode(node, frame);
    fixture.AddEntry({.thread = thread, .user_stack = node});
    return fixture.Build();
  };
  const Profile most = deep(kMaxStackDepth);
  const std::string bytes = SerializeProfile(most);
  const auto read = ParseProfile(std::as_bytes(std::span(bytes)), "x");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(*read == most);
  const std::string more = EncodeProfile(deep(kMaxStackDepth + 1));
  const auto refused = ParseProfile(std::as_bytes(std::span(more)), "x");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("a stack that is too deep"), std::string::npos);
}

// One thread that was found asleep in one place, twice.
Profile SampledProfile() {
  Profile p;
  p.origin.sample_hz = 100;
  p.window_ns = p.when_bucket_ns = 1'000'000;
  p.strings.emplace_back("futex_wait");
  p.frames.push_back({FrameKind::kKernel, false, 1, 0});
  p.nodes.push_back({0, 1});
  Thread thread;
  thread.pid = thread.tid = thread.inner_pid = thread.inner_tid = 7;
  thread.last_ns = p.window_ns;
  thread.sleeping_ns = p.window_ns;
  thread.samples = 2;
  p.threads.push_back(thread);
  Entry entry;
  entry.kernel_stack = 1;
  entry.reason = model::Reason::kBlocked;
  entry.thread = 1;
  entry.intervals = 2;
  entry.observed_ns = entry.estimated_ns = entry.sleeping_ns = p.window_ns;
  entry.when = {{0, p.window_ns}};
  p.entries.push_back(entry);
  return Canonicalize(std::move(p));
}

TEST(SampledProfileTest, IsReadAsItWasWritten) {
  const Profile profile = SampledProfile();
  ASSERT_TRUE(ValidateProfile(profile));
  const std::string bytes = EncodeProfile(profile);
  const auto read = ParseProfile(std::as_bytes(std::span(bytes)), "x");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, profile);
}

TEST(SampledProfileTest, TellsNothingOfIntervals) {
  for (uint64_t Entry::*field : {&Entry::left_open, &Entry::right_open}) {
    Profile profile = SampledProfile();
    profile.entries[0].*field = 1;
    EXPECT_FALSE(ValidateProfile(profile));
  }
  Profile profile = SampledProfile();
  profile.entries[0].max_ns = 1;
  EXPECT_FALSE(ValidateProfile(profile));
}

TEST(SampledProfileTest, HasSamplesOnlyWithARate) {
  Profile profile = SampledProfile();
  profile.origin.sample_hz = 0;
  EXPECT_FALSE(ValidateProfile(profile));
}

}  // namespace
}  // namespace offcpu::profile
