// SPDX-License-Identifier: MIT
#include "source/tracefs/lane.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "source/merge.h"
#include "tests/support/trace_log.h"
#include "tests/support/trace_pages.h"

namespace offcpu::source::tracefs {
namespace {

using test::FakePipe;
using test::PageMaker;
using test::Raw;

constexpr Nanos kEver = ~Nanos{0} - 1;

// Two CPUs whose rings the test fills; rounds as the source makes them.
class TracefsLaneTest : public testing::Test {
 protected:
  TracefsLaneTest() {
    state_.decoder = &decoder_;
    state_.sink = &log_;
    for (model::Cpu cpu = 0; cpu < 2; ++cpu) {
      lanes_.push_back(std::make_unique<Lane>(cpu, pipes_[cpu], test::kPageLayout, 8, state_));
    }
    merge_ = std::make_unique<Merge<Lane>>(std::vector{lanes_[0].get(), lanes_[1].get()});
  }

  void Round(Nanos horizon, Nanos now = kEver) {
    for (const auto& lane : lanes_) lane->ReadPages(now);
    merge_->Run(horizon);
  }
  // "prev>next" of thread `prev`, blocked, at this time.
  Raw Switch(int32_t prev, int32_t next) const { return make_.Switch(prev, 1, next); }
  std::string Lines() {
    std::string lines = log_.lines();
    log_.Clear();
    return lines;
  }

  ThreadTable threads_;
  Decoder decoder_{{test::TraceFormats(), {true, true, true}, 127, {}}, threads_};
  MergeState state_;
  test::TraceLog log_;
  FakePipe pipes_[2];
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::unique_ptr<Merge<Lane>> merge_;
  test::RecordMaker make_{test::TraceFormats()};
};

TEST_F(TracefsLaneTest, EventsOfTwoCpusComeInTimeOrderAndNotBeforeTheHorizon) {
  pipes_[0].Hold(PageMaker(100).Add(100, Switch(1, 0)).Add(300, make_.Wakeup(0, 1)));
  pipes_[1].Hold(PageMaker(200).Add(200, make_.Wakeup(0, 2)));
  Round(250);
  EXPECT_EQ(Lines(), "100 cpu0 worker -1/1 state 1 > 0\n200 cpu1 wakes 2\n");
  Round(299);
  EXPECT_EQ(Lines(), "");
  Round(300);
  EXPECT_EQ(Lines(), "300 cpu0 wakes 1\n");
}

TEST_F(TracefsLaneTest, StacksAreFoundOnTheNextPageToo) {
  pipes_[0].Hold(PageMaker(100).Add(100, Switch(1, 0)).Add(100, make_.UserStack(1, 1, {0x40})));
  pipes_[0].Hold(PageMaker(101)
                     .Add(101, make_.KernelStack(1, {0xffff000000000001}))
                     .Add(110, make_.Wakeup(0, 1)));
  Round(kEver);
  EXPECT_EQ(Lines(),
            "100 cpu0 worker 1/1 state 1 > 0 kernel ffff000000000001 user 40\n110 cpu0 wakes 1\n");
}

TEST_F(TracefsLaneTest, StacksOfOtherEventsAreNobodys) {
  pipes_[0].Hold(PageMaker(100)
                     .Add(100, make_.KernelStack(1, {0xffff000000000001}))
                     .Add(101, make_.Wakeup(1, 2))
                     .Add(101, make_.UserStack(1, 1, {0x40}))
                     .Add(102, Switch(1, 0))
                     .Add(103, make_.KernelStack(9, {0xffff000000000001})));
  Round(kEver);
  EXPECT_EQ(Lines(), "101 cpu0 wakes 2\n102 cpu0 worker -1/1 state 1 > 0\n");
}

TEST_F(TracefsLaneTest, OverwrittenEventsAreALossBetweenThePagesAroundThem) {
  pipes_[0].Hold(PageMaker(100).Add(100, Switch(1, 0)));
  Round(kEver);
  EXPECT_EQ(Lines(), "100 cpu0 worker -1/1 state 1 > 0\n");
  pipes_[1].Hold(PageMaker(150).Add(150, make_.Wakeup(0, 1)));
  pipes_[0].Hold(PageMaker(900).Missed(12).Add(905, Switch(1, 0)));
  pipes_[0].stats->overrun = 12;
  Round(kEver);
  EXPECT_EQ(Lines(),
            "loss cpu0 100-900 count 12\n150 cpu1 wakes 1\n905 cpu0 worker -1/1 state 1 > 0\n")
      << "the loss comes before any later event of any CPU";
  EXPECT_EQ(lanes_[0]->counters().lost_events, 12U);
}

TEST_F(TracefsLaneTest, WhereAPageDoesNotSayHowManyTheRingsCountDoes) {
  pipes_[0].stats->overrun = 30;
  pipes_[0].Hold(PageMaker(900).Missed().Add(905, Switch(1, 0)));
  Round(kEver);
  EXPECT_EQ(Lines(), "loss cpu0 0-900 count 30\n905 cpu0 worker -1/1 state 1 > 0\n");
  pipes_[0].stats.reset();
  pipes_[0].Hold(PageMaker(990).Missed().Add(995, Switch(1, 0)));
  Round(kEver);
  EXPECT_EQ(Lines(), "loss cpu0 905-990 count 1\n995 cpu0 worker -1/1 state 1 > 0\n")
      << "at least one";
}

TEST_F(TracefsLaneTest, EventsThatWereNeverWrittenAreALossUpToTheReading) {
  for (Nanos time = 100; time < 500; time += 100) {
    pipes_[0].Hold(PageMaker(time).Add(time, make_.Wakeup(0, 1)));
  }
  pipes_[0].stats->dropped = 3;
  Round(100);
  const std::string lines = Lines();
  EXPECT_EQ(lines.substr(0, lines.find('-') + 1), "loss cpu0 0-");
  EXPECT_NE(lines.find(" count 3\n100 cpu0 wakes 1\n"), std::string::npos) << lines;
}

TEST_F(TracefsLaneTest, TheRestOfADamagedPageIsALossUpToTheNextPage) {
  pipes_[0].Hold(PageMaker(100).Add(100, Switch(1, 0)).Words({0, 0xffffffff}));
  pipes_[1].Hold(PageMaker(150).Add(150, make_.Wakeup(0, 1)));
  Round(kEver);
  EXPECT_EQ(Lines(), "100 cpu0 worker -1/1 state 1 > 0\nloss cpu0 100-\n150 cpu1 wakes 1\n");
  pipes_[0].Hold(PageMaker(300).Add(300, Switch(1, 0)));
  Round(kEver);
  EXPECT_EQ(Lines(), "loss cpu0 150-300 count 1\n300 cpu0 worker -1/1 state 1 > 0\n");
  EXPECT_EQ(lanes_[0]->counters().damaged_pages, 1U);
}

TEST_F(TracefsLaneTest, ARingThatCannotBeReadLosesFromThereToTheEnd) {
  pipes_[0].Hold(PageMaker(100).Add(100, Switch(1, 0)));
  pipes_[0].failure = "read it: no such device";
  Round(kEver);
  Round(kEver);
  EXPECT_EQ(Lines(), "100 cpu0 worker -1/1 state 1 > 0\nloss cpu0 100-\n");
  EXPECT_EQ(lanes_[0]->failure(), "read it: no such device");
  lanes_[0]->FinishLosses(1000);
  EXPECT_EQ(Lines(), "loss cpu0 100-1000 count 1\n");
}

TEST_F(TracefsLaneTest, CountsThatNoPageToldOfAreALossAtTheEnd) {
  pipes_[0].Hold(PageMaker(100).Add(100, Switch(1, 0)));
  Round(kEver);
  Lines();
  lanes_[0]->FinishLosses(1000);
  EXPECT_EQ(Lines(), "");
  pipes_[0].stats = RingStats{4, 1};
  lanes_[0]->FinishLosses(1000);
  EXPECT_EQ(Lines(), "loss cpu0 100-1000 count 5\n");
}

TEST_F(TracefsLaneTest, AnEventThatTurnsUpLateIsLostButABirthIsNot) {
  threads_.Set(1, 1);
  pipes_[1].Hold(PageMaker(500).Add(500, make_.Wakeup(0, 1)));
  Round(kEver);
  Lines();
  pipes_[0].Hold(PageMaker(400).Add(400, Switch(1, 0)).Add(410, make_.NewTask(1, 2, 0)));
  Round(kEver);
  EXPECT_EQ(Lines(), "loss cpu0 400-500 count 1\n500 1/1 forks 2/2\n");
  EXPECT_EQ(lanes_[0]->counters().late_events, 2U);
}

TEST_F(TracefsLaneTest, AWriterThatIsFasterThanTheReaderDoesNotHoldIt) {
  for (Nanos time = 100; time < 600; time += 100) {
    pipes_[0].Hold(PageMaker(time).Add(time, make_.Wakeup(0, 1)));
  }
  lanes_[0]->ReadPages(250);
  EXPECT_EQ(pipes_[0].pages.size(), 2U) << "pages newer than the round are left for the next one";
}

TEST_F(TracefsLaneTest, SwitchesFromAHiddenIdleTaskAreNoticed) {
  pipes_[0].Hold(
      PageMaker(100).Add(100, Switch(1, 0)).Add(200, Switch(0, 1)).Add(300, Switch(1, 0)));
  Round(kEver);
  EXPECT_EQ(lanes_[0]->hidden_idle(), 0U);
  pipes_[0].Hold(PageMaker(400).Add(400, Switch(1, 0)));
  Round(kEver);
  EXPECT_EQ(lanes_[0]->hidden_idle(), 1U);
}

TEST(RingStatsText, CountsWhatWasOverwrittenAndWhatWasNeverWritten) {
  const auto stats = ParseRingStats(
      "entries: 76\noverrun: 1200\ncommit overrun: 3\nbytes: 5896\n"
      "oldest event ts: 13793.226408\nnow ts: 13793.285220\ndropped events: 4\nread events: 0\n");
  ASSERT_TRUE(stats);
  EXPECT_EQ(stats->overrun, 1200U);
  EXPECT_EQ(stats->dropped, 7U);
  EXPECT_FALSE(ParseRingStats(""));
  EXPECT_FALSE(ParseRingStats("overrun: many\n"));
}

}  // namespace
}  // namespace offcpu::source::tracefs
