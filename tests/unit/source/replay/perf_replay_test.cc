// SPDX-License-Identifier: MIT
// Small perf.data files of every layout, cut at every length.
#include "source/replay/perf_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/perf_data_builder.h"
#include "tests/support/replayed_events.h"

namespace offcpu::source::replay {
namespace {

using test::PerfDataBuilder;
using test::Replayed;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Options = PerfDataBuilder::Options;

const std::vector<uint64_t> kChain{static_cast<uint64_t>(PERF_CONTEXT_KERNEL), 0xffffffff81000010,
                                   0xffffffff81000020, static_cast<uint64_t>(PERF_CONTEXT_USER),
                                   0x401000};

class PerfReplayTest : public ::testing::Test {
 protected:
  static Replayed Replay(const std::string& bytes) { return test::ReplayBytes(bytes); }

  // CPU 1's ring stands before CPU 0's, as perf reads ring after ring.
  static std::string TwoCpus(Options options) {
    PerfDataBuilder file(options);
    file.Comm(0, 7, 7, "server");
    file.Switch(1200, 1, 0, 0, 7);
    file.Switch(1400, 1, 7, 0x100, 0, kChain);
    file.AuxTrace(24);
    file.Switch(1100, 0, 7, 1, 0, kChain);
    file.Wakeup(1150, 0, 7);
    file.EndRound();
    file.Switch(1500, 0, 0, 0, 7);
    file.EndRound();
    return file.File();
  }
  static void ExpectTwoCpus(const Replayed& replayed) {
    EXPECT_THAT(replayed.refusal, IsEmpty());
    EXPECT_FALSE(replayed.damaged);
    EXPECT_EQ(replayed.begin, 1100U);
    EXPECT_EQ(replayed.end, 1500U);
    EXPECT_THAT(replayed.events.lines,
                ElementsAre("0 comm 7/7 server", "1100 cpu 0 7(0x1)>0 chain 2+1",
                            "1150 cpu 0 wakes 7", "1200 cpu 1 0(0x0)>7 chain 0+0",
                            "1400 cpu 1 7(0x0+)>0 chain 2+1", "1500 cpu 0 0(0x0)>7 chain 0+0"));
  }
};

TEST_F(PerfReplayTest, RingsAreMergedIntoTimeOrder) { ExpectTwoCpus(Replay(TwoCpus({}))); }

TEST_F(PerfReplayTest, TheOtherByteOrderReadsTheSame) {
  ExpectTwoCpus(Replay(TwoCpus({.swap = true})));
}

TEST_F(PerfReplayTest, ThePipeLayoutReadsTheSame) {
  ExpectTwoCpus(Replay(TwoCpus({.pipe = true})));
  ExpectTwoCpus(Replay(TwoCpus({.swap = true, .pipe = true})));
}

TEST_F(PerfReplayTest, AttributesOfAnySizeReadTheSame) {
  for (const uint32_t size : {64U, 72U, 96U, 112U, 136U, 200U}) {
    ExpectTwoCpus(Replay(TwoCpus({.attr_size = size})));
  }
}

TEST_F(PerfReplayTest, EventsAreToldByOlderIdsToo) {
  const uint64_t type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_CPU |
                        PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW;
  ExpectTwoCpus(Replay(TwoCpus({.sample_type = type})));
}

TEST_F(PerfReplayTest, CompressedRecordsAreUnpackedAcrossTheirBorders) {
  for (const int type : {int{kCompressed}, int{kCompressed2}}) {
    for (const bool pipe : {false, true}) {
      PerfDataBuilder file({.pipe = pipe, .compress = type});
      for (uint64_t i = 0; i < 200; ++i) file.Switch(1000 + i, 0, i % 2 == 0 ? 0 : 7, 1, 7, kChain);
      const Replayed replayed = Replay(file.File());
      EXPECT_THAT(replayed.refusal, IsEmpty());
      EXPECT_FALSE(replayed.damaged);
      EXPECT_EQ(replayed.events.switches, 200U);
    }
  }
}

TEST_F(PerfReplayTest, CutAnywhereItGivesWhatIsWholeAndSaysSo) {
  for (const Options options : {Options{}, Options{.pipe = true}, Options{.compress = kCompressed2},
                                Options{.swap = true}}) {
    const std::string whole = TwoCpus(options);
    for (size_t length = 0; length < whole.size(); ++length) {
      const Replayed replayed = Replay(whole.substr(0, length));
      EXPECT_TRUE(replayed.events.in_order);
      // In the pipe layout nothing tells that records are missing when the cut is between two.
      EXPECT_TRUE(options.pipe || !replayed.refusal.empty() || replayed.damaged) << length;
      EXPECT_LE(replayed.events.switches, 4U);
    }
  }
}

TEST_F(PerfReplayTest, AnyByteMayBeWrong) {
  const std::string whole = TwoCpus({});
  const size_t formats_begin = whole.find("tracing");
  ASSERT_LT(formats_begin, whole.size());
  for (size_t at = 0; at < formats_begin; ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(~bytes[at]);
    EXPECT_LE(Replay(bytes).events.switches, 5U);
  }
}

TEST_F(PerfReplayTest, AnUnknownBitIsRefusedByName) {
  Options options;
  options.sample_type |= uint64_t{1} << 40;
  EXPECT_THAT(Replay(TwoCpus(options)).refusal, HasSubstr("bit 40 of sample_type"));
  options = {};
  options.read_format |= 1 << 9;
  EXPECT_THAT(Replay(TwoCpus(options)).refusal, HasSubstr("bit 9 of read_format"));
}

TEST_F(PerfReplayTest, ALossIsToldBeforeWhatCameAfterIt) {
  PerfDataBuilder file({});
  file.Switch(1000, 0, 0, 0, 7);
  file.Switch(1100, 1, 0, 0, 8);
  file.EndRound();
  file.Lost(1400, 0, 5);
  file.Switch(1300, 1, 8, 1, 0);
  file.EndRound();
  EXPECT_THAT(Replay(file.File()).events.lines,
              ElementsAre("1000 cpu 0 0(0x0)>7 chain 0+0", "lost 5 on cpu 0 from 1000 to 1400",
                          "1100 cpu 1 0(0x0)>8 chain 0+0", "1300 cpu 1 8(0x1)>0 chain 0+0"));
}

TEST_F(PerfReplayTest, OutsOfATaskAloneAreRefusedWithTheCommandThatRecordsIns) {
  PerfDataBuilder file({.enable_on_exec = true});
  file.Switch(1000, 0, 7, 1, 0);
  const Replayed replayed = Replay(file.File());
  EXPECT_THAT(replayed.refusal, HasSubstr("not when they came back"));
  EXPECT_THAT(replayed.refusal, HasSubstr(std::string(kRecordTask)));
}

// They tell who left, and of whole CPUs the next one who ran meanwhile, but never why.
TEST_F(PerfReplayTest, ContextSwitchesWithoutSwitchRecordsAreRefusedWithTheCommandThatAddsThem) {
  for (const int32_t task : {-1, 7}) {
    Options options;
    options.software = true;
    options.sample_type &= ~uint64_t{PERF_SAMPLE_RAW};
    for (const bool records : {false, true}) {
      options.context_switch = records;
      PerfDataBuilder file(options);
      file.OpenedFor(task);
      file.Switch(1000, 0, 7, 0, 0, kChain);
      if (records) file.SwitchRecord(1001, 0, 7, /*out=*/true);
      file.Switch(2000, 0, 0, 0, 0);
      if (records) file.SwitchRecord(2001, 0, 7, /*out=*/false);
      const Replayed replayed = Replay(file.File());
      if (records) {
        EXPECT_THAT(replayed.refusal, IsEmpty());
        EXPECT_EQ(replayed.events.switches, 1U);
        EXPECT_EQ(replayed.events.switch_ins, 1U);
        continue;
      }
      EXPECT_THAT(replayed.refusal, HasSubstr(task < 0 ? "not whether they could run on"
                                                       : "not when they came back"));
      EXPECT_THAT(replayed.refusal, HasSubstr("--switch-events -c 1 -e context-switches"));
    }
  }
}

TEST_F(PerfReplayTest, SwitchRecordsSupplyTheInsOfTasks) {
  PerfDataBuilder file({.context_switch = true, .enable_on_exec = true});
  file.Switch(1000, 3, 7, 1, 99);
  file.SwitchRecord(1001, 3, 7, /*out=*/true);
  file.SwitchRecord(1500, 2, 7, /*out=*/false);
  file.Switch(1600, 2, 7, 0, 98);
  // Each thread has a CPU of its own: what others did on those is not known.
  EXPECT_THAT(Replay(file.File()).events.lines,
              ElementsAre("1000 cpu 0 7(0x1)>0 chain 0+0", "1500 cpu 0 in 7",
                          "1600 cpu 0 7(0x0)>0 chain 0+0"));
}

TEST_F(PerfReplayTest, WhatComesTooLateIsALoss) {
  PerfDataBuilder file({});
  const std::vector<uint64_t> long_chain(4000, 0xffffffff81000010);
  for (uint64_t i = 0; i < 400; ++i) file.Switch(10'000 + i, 0, 0, 0, 7, long_chain);
  file.EndRound();
  file.Switch(20'000, 0, 7, 1, 0);
  file.EndRound();
  file.EndRound();
  file.Switch(9'000, 1, 0, 0, 8);
  file.Switch(30'000, 1, 8, 1, 0);
  const Replayed replayed = Replay(file.File());
  EXPECT_EQ(replayed.events.lost, 1U);
  EXPECT_EQ(replayed.events.switches, 402U);
  EXPECT_TRUE(replayed.events.in_order);
}

}  // namespace
}  // namespace offcpu::source::replay
