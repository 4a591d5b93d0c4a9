// SPDX-License-Identifier: MIT
// trace.dat of trace-cmd and raw pages of the trace ring.
#include "source/replay/ring_replay.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include <gmock/gmock.h>

#include "source/replay/open.h"
#include "tests/support/replayed_events.h"
#include "tests/support/scratch_tree.h"
#include "tests/support/trace_dat_builder.h"

namespace offcpu::source::replay {
namespace {

using test::PageMaker;
using test::TraceDatBuilder;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// ---- recordings of others -----------------------------------------------------------------------

class RealRingsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(testing::TestData("trace-dat"))) GTEST_SKIP() << "no test data";
  }
  static std::map<uint32_t, size_t> States(const test::EventLines& events) {
    std::map<uint32_t, size_t> states;
    for (const uint32_t state : events.states) ++states[state];
    return states;
  }
};

TEST_F(RealRingsTest, TrappysSwitchesHaveTheStatesItsMakersSay) {
  const auto replayed = test::ReplayFile(testing::TestData("trace-dat/trappy/raw_trace.dat"));
  EXPECT_EQ(replayed.refusal, "");
  EXPECT_EQ(replayed.events.switches, 755U);
  EXPECT_EQ(replayed.events.preempted, 6U);
  EXPECT_TRUE(replayed.events.in_order);
  EXPECT_EQ(States(replayed.events), (std::map<uint32_t, size_t>{{model::kTaskRunning, 366 + 6},
                                                                 {model::kTaskInterruptible, 382},
                                                                 {model::kTaskDead, 1}}));
}

TEST_F(RealRingsTest, LisasSwitchesHaveTheStatesItsMakersSay) {
  const auto replayed =
      test::ReplayFile(testing::TestData("trace-dat/lisa/example_rtapp-trace.dat"));
  EXPECT_EQ(replayed.events.switches, 1552U);
  EXPECT_EQ(replayed.events.preempted, 60U);
  EXPECT_EQ(States(replayed.events)[model::kTaskUninterruptible | model::kTaskKillable], 3U);
  EXPECT_FALSE(replayed.damaged);
}

TEST_F(RealRingsTest, RawPagesHaveWhatWasCountedInThem) {
  struct Case {
    const char* pages;
    const char* formats;
    uint64_t switches, wakeups, preempted;
  };
  for (const Case& each : {Case{"schedviz/small", "schedviz/test", 779, 587, 1},
                           Case{"schedviz/test", "schedviz/test", 15056, 11134, 329}}) {
    const auto replayed =
        test::ReplayFile(testing::TestData(std::string("trace-pipe-raw/") + each.pages),
                         testing::TestData(std::string("tracefs-format/") + each.formats));
    EXPECT_EQ(replayed.refusal, "") << each.pages;
    EXPECT_EQ(replayed.events.switches, each.switches) << each.pages;
    EXPECT_EQ(replayed.events.wakeups, each.wakeups) << each.pages;
    EXPECT_EQ(replayed.events.preempted, each.preempted) << each.pages;
    EXPECT_EQ(replayed.events.lost, 0U) << each.pages;
    EXPECT_FALSE(replayed.damaged) << each.pages;
  }
}

TEST_F(RealRingsTest, TheStatesOfManyPagesAreThoseOfItsReadme) {
  const auto replayed = test::ReplayFile(testing::TestData("trace-pipe-raw/schedviz/test"),
                                         testing::TestData("tracefs-format/schedviz/test"));
  EXPECT_EQ(States(replayed.events), (std::map<uint32_t, size_t>{{model::kTaskRunning, 861 + 329},
                                                                 {model::kTaskInterruptible, 10610},
                                                                 {model::kTaskUninterruptible, 524},
                                                                 {model::kTaskDead, 2732}}));
}

TEST_F(RealRingsTest, OnePageOfAnotherKernelIsReadByItsOwnFormats) {
  const auto replayed = test::ReplayFile(testing::TestData("trace-pipe-raw/perfetto/one_page"),
                                         testing::TestData("tracefs-format/perfetto/synthetic"));
  EXPECT_EQ(replayed.events.switches, 59U);
  EXPECT_FALSE(replayed.damaged);
}

TEST_F(RealRingsTest, AFolderWithoutFormatsSaysHowToGiveThem) {
  const auto replayed = test::ReplayFile(testing::TestData("trace-pipe-raw/schedviz/small"));
  EXPECT_THAT(replayed.refusal, HasSubstr("--formats"));
}

// ---- recordings of our own ----------------------------------------------------------------------

constexpr Nanos kStart = 5'000'000'000;

class TraceDatTest : public ::testing::Test {
 protected:
  // Thread 7 leaves CPU 0 to wait, is woken on CPU 1, comes back; then a page that says that events
  // were overwritten.
  TraceDatBuilder Example() const {
    PageMaker first(kStart);
    first.Add(kStart, make_.Switch(7, model::kTaskInterruptible, 0, "a"));
    first.Add(kStart + 1, make_.KernelStack(7, {0xffffffff81001010}));
    first.Add(kStart + 9000, make_.Switch(0, 0, 7, "idle"));
    PageMaker second(kStart + 20'000);
    second.Missed(3).Add(kStart + 20'000, make_.Switch(7, model::kTaskInterruptible, 0, "a"));
    PageMaker other(kStart + 5000);
    other.Add(kStart + 5000, make_.Wakeup(8, 7));
    TraceDatBuilder builder;
    builder.Cpu({first, second}).Cpu({other});
    return builder;
  }
  const test::RecordMaker make_{test::TraceFormats()};
};

TEST_F(TraceDatTest, BothVersionsGiveTheSameEvents) {
  for (const std::string& file : {Example().Version6(), Example().Version7()}) {
    const auto replayed = test::ReplayBytes(file);
    EXPECT_EQ(replayed.refusal, "");
    EXPECT_THAT(replayed.events.lines,
                ElementsAre("5000000000 comm 7/7 a", "5000000000 cpu 0 7(0x1)>0 chain 1+0",
                            "5000005000 cpu 1 wakes 7", "5000009000 cpu 0 0(0x0)>7 chain 0+0",
                            "lost 3 on cpu 0 from 5000009000 to 5000020000",
                            "5000020000 cpu 0 7(0x1)>0 chain 0+0"));
    EXPECT_EQ(replayed.begin, kStart);
    EXPECT_EQ(replayed.end, kStart + 20'000);
    EXPECT_FALSE(replayed.damaged);
  }
}

TEST_F(TraceDatTest, ItIsToldWhatIsInIt) {
  const testing::ScratchTree tree;
  const auto info = DescribeRecording(tree.Write("trace.dat", Example().Version7()));
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_FALSE(info->refusal);
  EXPECT_EQ(info->format, "trace.dat of version 7");
  EXPECT_EQ(info->kernel, "6.18.44");
  EXPECT_EQ(info->lost_events, 3U);
  ASSERT_EQ(info->per_cpu.size(), 2U);
  EXPECT_EQ(info->per_cpu[0].records, 4U);
  EXPECT_EQ(info->per_cpu[1].first_ns, 5000U);
  EXPECT_EQ(info->events.front().clock, "mono");
}

TEST_F(TraceDatTest, AClockThatCountsNoNanosecondsIsRefused) {
  auto builder = Example();
  EXPECT_THAT(test::ReplayBytes(builder.Clock("local [x86-tsc]").Version6()).refusal,
              HasSubstr("x86-tsc"));
}

// A cut file has the events of its whole pages, or is refused; the rest is not made up.
TEST_F(TraceDatTest, CutAtEveryLengthThereIsNeverMore) {
  const auto whole = test::ReplayBytes(Example().Version6());
  for (const std::string& file : {Example().Version6(), Example().Version7()}) {
    for (size_t size = 0; size < file.size(); size += size < 10'000 ? 1 : 61) {
      const auto cut = test::ReplayBytes(file.substr(0, size));
      EXPECT_LE(cut.events.switches, whole.events.switches) << size;
      EXPECT_TRUE(!cut.refusal.empty() || cut.events.in_order) << size;
    }
  }
}

TEST_F(TraceDatTest, WhatIsMissingAtTheEndOfTheFileIsALossUpToTheWindowsEnd) {
  // The pages of CPU 0 lie before that of CPU 1, which is cut off.
  const std::string file = Example().Version6();
  const auto replayed = test::ReplayBytes(file.substr(0, file.size() - 4096));
  EXPECT_TRUE(replayed.damaged);
  EXPECT_THAT(replayed.events.lines,
              Contains("lost 0 on cpu 1 from 5000000000 to 18446744073709551615"));
  EXPECT_THAT(replayed.events.lines, Contains("lost 1 on cpu 1 from 5000000000 to 5000020000"));
}

TEST_F(TraceDatTest, ADamagedLastPageIsALossUpToTheWindowsEnd) {
  PageMaker good(kStart);
  good.Add(kStart, make_.Switch(7, model::kTaskInterruptible, 0, "a"));
  PageMaker bad(kStart + 1000);
  bad.Commit(9999);
  PageMaker other(kStart + 9000);
  other.Add(kStart + 9000, make_.Switch(9, model::kTaskInterruptible, 0, "b"));
  const auto replayed =
      test::ReplayBytes(TraceDatBuilder().Cpu({good, bad}).Cpu({other}).Version7());
  EXPECT_TRUE(replayed.damaged);
  EXPECT_THAT(replayed.events.lines, Contains("lost 1 on cpu 0 from 5000000000 to 5000009000"));
}

TEST_F(TraceDatTest, AnyByteMayBeWrong) {
  for (const std::string& file : {Example().Version6(), Example().Version7()}) {
    for (size_t at = 0; at < file.size(); at += at < 10'000 ? 7 : 13) {
      std::string damaged = file;
      damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
      EXPECT_TRUE(test::ReplayBytes(damaged).events.in_order) << at;
    }
  }
}

}  // namespace
}  // namespace offcpu::source::replay
