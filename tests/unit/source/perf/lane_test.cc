// SPDX-License-Identifier: MIT
#include "source/perf/lane.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "source/merge.h"
#include "source/perf/switch_decode.h"
#include "tests/support/perf_records.h"
#include "tests/support/switch_records.h"

namespace offcpu::source::perf {
namespace {

using test::EventLog;
using test::FakeRing;
using testing::ElementsAre;

// Lanes over fake rings.
class LaneTest : public testing::Test {
 protected:
  struct Cpu {
    FakeRing ring;
    std::unique_ptr<Lane> lane;
  };

  LaneTest() {
    DecodeOptions options;
    options.switch_format = test::TestSwitchFormat();
    options.wakeup_format = test::TestWakeupFormat();
    decoder_ = std::make_unique<Decoder>(options);
    state_.decoder = decoder_.get();
    state_.sink = &log_;
  }

  // With `lost_switches` the kernel counts, and that is what it says.
  Cpu MakeCpu(model::Cpu number, const uint64_t* lost_switches = nullptr) {
    Cpu cpu;
    std::vector<LaneEvent> events;
    for (const auto& [id, kind] : {std::pair{test::kPlainEvent, EventKind::kPlainSwitch},
                                   std::pair{test::kStackEvent, EventKind::kStackSwitch},
                                   std::pair{test::kWakeupEvent, EventKind::kWakeup}}) {
      LaneEvent event;
      event.id = id;
      event.kind = kind;
      events.push_back(std::move(event));
    }
    LossReader read_lost;
    if (lost_switches != nullptr) {
      read_lost = [lost_switches](const LaneEvent& event) {
        return event.kind == EventKind::kPlainSwitch ? *lost_switches : uint64_t{0};
      };
    }
    cpu.lane = std::make_unique<Lane>(number, PerfRing(cpu.ring.Take()), std::move(events), state_,
                                      std::move(read_lost));
    return cpu;
  }

  void Round(const std::vector<Cpu*>& cpus, Nanos horizon) {
    std::vector<Lane*> lanes;
    for (Cpu* cpu : cpus) {
      cpu->lane->TakeHead();
      lanes.push_back(cpu->lane.get());
    }
    Merge<Lane>(lanes).Run(horizon);
    for (Cpu* cpu : cpus) cpu->lane->Release();
  }

  static std::vector<std::byte> Switch(Nanos time, int32_t prev, int32_t next) {
    return test::MakeSwitch({time, prev, 1, next, {}, false, 0, 0});
  }

  std::unique_ptr<Decoder> decoder_;
  MergeState state_;
  EventLog log_;
};

TEST_F(LaneTest, RecordsStayInTheRingUntilTheyAreDelivered) {
  const uint64_t none = 0;
  Cpu cpu = MakeCpu(0, &none);
  cpu.ring.Write(Switch(10, 5, 6));
  cpu.ring.Write(Switch(20, 6, 5));
  const uint64_t one = Switch(10, 5, 6).size();
  Round({&cpu}, 15);
  EXPECT_THAT(log_.lines, ElementsAre("10 switch 5>6"));
  EXPECT_EQ(cpu.ring.tail(), one);
  Round({&cpu}, 25);
  EXPECT_EQ(cpu.ring.tail(), 2 * one);
}

TEST_F(LaneTest, RecordsThatWrapAroundTheEndOfTheRingAreWhole) {
  const uint64_t none = 0;
  Cpu cpu = MakeCpu(0, &none);
  std::vector<std::string> expected;
  for (Nanos time = 1; time <= 200; ++time) {
    cpu.ring.Write(Switch(time, 5, 6));
    expected.push_back(std::to_string(time) + " switch 5>6");
    Round({&cpu}, time);
  }
  EXPECT_EQ(log_.lines, expected);
}

// D1: the loss is told at the time behind which records are missing, before any later event.
TEST_F(LaneTest, ALossComesBeforeLaterEventsOfOtherCpus) {
  const uint64_t none = 0;
  uint64_t lost = 0;
  Cpu a = MakeCpu(0, &lost);
  Cpu b = MakeCpu(1, &none);
  lost = 3;
  a.ring.Write(Switch(10, 5, 6));
  a.ring.Write(test::MakeLost(50, 3));
  a.ring.Write(Switch(51, 7, 8));
  b.ring.Write(Switch(30, 1, 2));
  Round({&a, &b}, 100);
  EXPECT_THAT(log_.lines, ElementsAre("10 switch 5>6", "10 loss of 3 until 50", "30 switch 1>2",
                                      "51 switch 7>8"));
  EXPECT_EQ(a.lane->counters().lost_events, 3U);
}

TEST_F(LaneTest, AFullRingThatLostIsTornOpenBeforeItsLostRecordIsThere) {
  uint64_t lost = 0;
  Cpu a = MakeCpu(0, &lost);
  const uint64_t none = 0;
  Cpu b = MakeCpu(1, &none);
  const size_t one = Switch(1, 5, 6).size();
  Nanos time = 0;
  for (size_t used = 0; used + one <= a.ring.size(); used += one)
    a.ring.Write(Switch(++time, 5, 6));
  b.ring.Write(Switch(time + 10, 1, 2));
  lost = 4;
  Round({&a, &b}, time + 20);
  const std::string last = std::to_string(time);
  ASSERT_GE(log_.lines.size(), 2U);
  EXPECT_EQ(log_.lines[log_.lines.size() - 2], last + " loss of 0 until ?");
  EXPECT_EQ(log_.lines.back(), std::to_string(time + 10) + " switch 1>2");

  log_.lines.clear();
  a.ring.Write(test::MakeLost(time + 30, 4));
  a.ring.Write(Switch(time + 31, 5, 6));
  Round({&a, &b}, time + 40);
  EXPECT_THAT(log_.lines, ElementsAre(last + " loss of 4 until " + std::to_string(time + 30),
                                      std::to_string(time + 31) + " switch 5>6"));
}

TEST_F(LaneTest, ALossOfWakeupsAloneIsNoHoleInTheSwitches) {
  const uint64_t none = 0;
  Cpu cpu = MakeCpu(0, &none);
  cpu.ring.Write(Switch(10, 5, 6));
  cpu.ring.Write(test::MakeLost(50, 3));
  cpu.ring.Write(Switch(51, 6, 8));
  Round({&cpu}, 100);
  EXPECT_THAT(log_.lines, ElementsAre("10 switch 5>6", "51 switch 6>8"));
  EXPECT_EQ(cpu.lane->counters().lost_other, 3U);
}

// LOST records only come with a later record that fits, so the counts are read at the end.
TEST_F(LaneTest, LossesBehindTheLastRecordAreFoundAtTheEnd) {
  uint64_t lost = 0;
  Cpu cpu = MakeCpu(0, &lost);
  cpu.ring.Write(Switch(10, 5, 6));
  Round({&cpu}, 100);
  lost = 2;
  cpu.lane->FinishLosses(90);
  EXPECT_THAT(log_.lines, ElementsAre("10 switch 5>6", "10 loss of 2 until 90"));
}

TEST_F(LaneTest, AnEventOlderThanWhatWasDeliveredIsALoss) {
  const uint64_t none = 0;
  Cpu a = MakeCpu(0, &none);
  Cpu b = MakeCpu(1, &none);
  a.ring.Write(Switch(50, 5, 6));
  Round({&a, &b}, 60);
  b.ring.Write(Switch(40, 1, 2));
  Round({&a, &b}, 70);
  EXPECT_THAT(log_.lines, ElementsAre("50 switch 5>6", "40 loss of 1 until 50"));
  EXPECT_EQ(b.lane->counters().late_events, 1U);
}

// The `switch` back end has one event for both.
TEST_F(LaneTest, ALateForkIsToldAndALateSwitchRecordIsALoss) {
  SwitchDecodeOptions options;
  options.all_threads = true;
  SwitchDecoder decoder(options);
  state_.decoder = &decoder;
  const uint64_t none = 0;
  Cpu a = MakeCpu(0, &none);
  Cpu b = MakeCpu(1, &none);
  a.ring.Write(test::WideOut(50, 5, 6));
  Round({&a, &b}, 60);
  test::RecordBytes fork;
  fork.Add(int32_t{5}).Add(int32_t{5}).Add(int32_t{9}).Add(int32_t{5}).Add(uint64_t{40});
  b.ring.Write(test::AddTrailer(fork, 5, 5, 40).Record(PERF_RECORD_FORK));
  b.ring.Write(test::WideIn(41, 9, 0));
  Round({&a, &b}, 70);
  EXPECT_THAT(log_.lines, ElementsAre("50 switch 5>6", "50 fork 5>9", "41 loss of 1 until 50"));
}

TEST_F(LaneTest, ARecordOfImpossibleLengthEndsTheRoundAndIsALoss) {
  const uint64_t none = 0;
  Cpu cpu = MakeCpu(0, &none);
  cpu.ring.Write(Switch(10, 5, 6));
  std::vector<std::byte> bad(16);
  cpu.ring.Write(bad);  // a header with size 0
  Round({&cpu}, 100);
  EXPECT_THAT(log_.lines, ElementsAre("10 switch 5>6", "10 loss of 0 until ?"));
  EXPECT_EQ(cpu.lane->counters().corrupt_bytes, 16U);
  cpu.ring.Write(Switch(200, 6, 7));
  Round({&cpu}, 300);
  EXPECT_EQ(log_.lines.back(), "200 switch 6>7");
}

}  // namespace
}  // namespace offcpu::source::perf
