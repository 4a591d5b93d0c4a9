// SPDX-License-Identifier: MIT
#include "source/perf/switch_decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/perf_records.h"
#include "tests/support/switch_records.h"

namespace offcpu::source::perf {
namespace {

using test::EventLog;
using test::In;
using test::kRunsOn;
using test::Out;
using test::RecordBytes;
using test::Sample;
using test::WideIn;
using test::WideOut;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint64_t kKernel = static_cast<uint64_t>(PERF_CONTEXT_KERNEL);
constexpr uint64_t kUser = static_cast<uint64_t>(PERF_CONTEXT_USER);

class SwitchDecodeTest : public testing::Test {
 protected:
  static SwitchDecodeOptions Options(bool all_threads) {
    SwitchDecodeOptions options;
    options.all_threads = all_threads;
    options.max_stack = 5;
    options.chain_reasons = {true, false, false};
    return options;
  }

  void Decode(SwitchDecoder& decoder, const std::vector<std::vector<std::byte>>& records,
              model::Cpu cpu = 3) {
    for (const auto& record : records) {
      decoder.Decode(record, EventKind::kContextSwitches, TimeOfRecord(record), cpu, log);
    }
  }

  SwitchDecoder threads{Options(false)};
  SwitchDecoder cpus{Options(true)};
  EventLog log;
};

TEST_F(SwitchDecodeTest, TheChainInFrontBelongsToTheSwitchOutAndSoDoesItsTime) {
  Decode(threads, {In(10, 500), Sample(20, 500, {kKernel, 1, 2, kUser, 3}), Out(24, 500)});
  EXPECT_THAT(log.lines, ElementsAre("10 in 500", "20 switch 500>-1"));
  const model::Switch& event = log.switches.at(0);
  EXPECT_EQ(event.cpu, 3);
  EXPECT_EQ(event.prev_pid, 500);
  EXPECT_EQ(event.prev_state, model::kTaskUnknownState);
  EXPECT_EQ(model::ReasonOf(event.prev_state, event.preempted), model::Reason::kBlocked);
  EXPECT_TRUE(event.chain.present);
  EXPECT_FALSE(event.chain.truncated);
  EXPECT_THAT(log.kernel, ElementsAre(1, 2));
  EXPECT_THAT(log.user, ElementsAre(3));
}

TEST_F(SwitchDecodeTest, ThePreemptBitMeansThatItWasStillRunnable) {
  Decode(threads, {In(10, 500), Out(24, 500, kRunsOn)});
  const model::Switch& event = log.switches.at(0);
  EXPECT_EQ(event.time, 24U);
  EXPECT_EQ(event.prev_state, model::kTaskRunning);
  EXPECT_FALSE(event.preempted) << "whether it was preempted is not told";
  EXPECT_FALSE(event.chain.present);
}

TEST_F(SwitchDecodeTest, AnotherThreadsChainIsNotTakenOver) {
  Decode(threads, {Sample(20, 500, {kUser, 3}), In(22, 501), Out(24, 501)});
  EXPECT_FALSE(log.switches.at(0).chain.present);
  EXPECT_EQ(log.switches.at(0).time, 24U);
  Decode(threads, {Sample(30, 500, {kUser, 3})}, /*cpu=*/1);
  Decode(threads, {In(31, 500), Out(32, 500)}, /*cpu=*/2);
  EXPECT_FALSE(log.switches.at(1).chain.present);
}

TEST_F(SwitchDecodeTest, AChainThatIsNotWantedForThisReasonIsLeftOut) {
  Decode(threads, {In(10, 500), Sample(20, 500, {kUser, 3}), Out(24, 500, kRunsOn)});
  EXPECT_FALSE(log.switches.at(0).chain.present);
  EXPECT_EQ(log.switches.at(0).time, 20U);
}

TEST_F(SwitchDecodeTest, AChainAsLongAsTheLimitWasCut) {
  Decode(threads, {In(10, 500), Sample(20, 500, {kUser, 1, 2, 3, 4, 5}), Out(24, 500)});
  EXPECT_TRUE(log.switches.at(0).chain.truncated);
}

// A12: in the body of a record of a whole CPU stands the other thread, on "out" the next one and on
// "in" the previous one.
TEST_F(SwitchDecodeTest, OfACpusSwitchBothThreadsAreTold) {
  Decode(cpus, {WideOut(10, 500, /*next=*/501), WideIn(11, 501, /*prev=*/500)});
  EXPECT_THAT(log.lines, ElementsAre("10 switch 500>501", "11 in 501"));
}

// A12: two events on one CPU, or for one thread, write each record twice.
TEST_F(SwitchDecodeTest, ARecordThatComesTwiceCountsOnce) {
  Decode(cpus, {WideOut(10, 500, 501), WideOut(10, 500, 501), WideIn(10, 501, 500),
                WideIn(10, 501, 500), WideOut(20, 501, 0), WideOut(20, 501, 0)});
  EXPECT_THAT(log.lines, ElementsAre("10 switch 500>501", "10 in 501", "20 switch 501>0"));
  EXPECT_EQ(cpus.repeated(), 3U);
  log.lines.clear();
  Decode(threads, {In(5, 500), In(5, 500), Sample(9, 500, {kUser, 3}), Sample(9, 500, {kUser, 3}),
                   Out(10, 500), Out(10, 500), In(20, 500), Out(30, 500)});
  EXPECT_THAT(log.lines,
              ElementsAre("5 in 500", "9 switch 500>-1", "20 in 500", "30 switch 500>-1"));
  EXPECT_TRUE(log.switches.at(2).chain.present);
  EXPECT_FALSE(log.switches.at(3).chain.present) << "a chain serves once";
}

TEST_F(SwitchDecodeTest, BehindAGapTheSameRecordIsNoRepetition) {
  Decode(threads, {In(5, 500), Sample(9, 500, {kUser, 3}), Out(10, 500)});
  Decode(threads, {Sample(11, 500, {kUser, 3})});
  threads.OnGap(3);
  Decode(threads, {Out(30, 500)});
  EXPECT_THAT(log.lines, ElementsAre("5 in 500", "9 switch 500>-1", "30 switch 500>-1"));
  EXPECT_FALSE(log.switches.at(1).chain.present) << "the gap lies between chain and record";
}

TEST_F(SwitchDecodeTest, AForkThatIsToldTwiceIsOneBirth) {
  const auto fork = [](int32_t tid, Nanos time) {
    RecordBytes bytes;
    bytes.Add(int32_t{600}).Add(int32_t{600}).Add(tid).Add(int32_t{600}).Add(time);
    return test::AddTrailer(bytes, 600, 600, time).Record(PERF_RECORD_FORK);
  };
  Decode(threads, {fork(601, 5), fork(601, 5), fork(602, 7)});
  EXPECT_THAT(log.lines, ElementsAre("5 fork 600>601", "7 fork 600>602"));
}

std::vector<std::byte> Exit(Nanos time, int32_t tid) {
  RecordBytes bytes;
  bytes.Add(int32_t{500}).Add(int32_t{1}).Add(tid).Add(int32_t{1}).Add(time);
  return test::AddTrailer(bytes, 500, tid, time).Record(PERF_RECORD_EXIT);
}

TEST_F(SwitchDecodeTest, ItsExitIsTheLastThatAThreadsOwnEventsTell) {
  Decode(threads, {Exit(5, 501)});
  Decode(cpus, {Exit(6, 501)});
  ASSERT_EQ(log.exits.size(), 2U);
  EXPECT_TRUE(log.exits[0].last);
  EXPECT_FALSE(log.exits[1].last);
}

TEST_F(SwitchDecodeTest, OnACpuTheLastSwitchOutComesBehindTheExit) {
  Decode(cpus, {WideIn(1, 501, 0), Exit(5, 501), WideOut(6, 501, 0, kRunsOn), WideIn(8, 501, 0),
                WideOut(9, 501, 0)});
  EXPECT_EQ(log.switches.at(0).prev_state, model::kTaskRunning);
  EXPECT_EQ(log.switches.at(1).prev_state, model::kTaskDead);
  Decode(cpus, {WideIn(20, 501, 0), WideOut(21, 501, 0)});
  EXPECT_EQ(log.switches.at(2).prev_state, model::kTaskUnknownState) << "another thread by then";
}

// E1, K7.
TEST_F(SwitchDecodeTest, AReapedThreadIsTheOneThatCameInBefore) {
  Decode(cpus, {WideIn(1, 501, 0), Exit(5, 501), WideOut(6, -1, 7), WideIn(7, 7, -1)});
  EXPECT_THAT(log.lines, ElementsAre("1 in 501", "5 exit 501", "6 switch 501>7", "7 in 7"));
  EXPECT_EQ(log.switches.at(0).prev_state, model::kTaskDead);
  EXPECT_EQ(log.switches.at(0).prev_pid, -1);
  log.lines.clear();
  Decode(cpus, {WideOut(10, -1, 7)}, /*cpu=*/1);
  EXPECT_THAT(log.lines, IsEmpty()) << "nobody knows who that was";
}

// A leader that ended may still be on a CPU when its id already belongs to the thread that called
// execve.
TEST_F(SwitchDecodeTest, TheLeadersLastSwitchOutIsNotThatOfWhoTookItsIdOver) {
  Decode(cpus, {WideIn(1, 500, 0), Exit(5, 500)}, /*cpu=*/0);
  RecordBytes exec;
  exec.Add(int32_t{500}).Add(int32_t{500}).AddBytes("new", 8);
  Decode(cpus,
         {WideIn(2, 501, 0),
          test::AddTrailer(exec, 500, 500, 6).Record(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC)},
         /*cpu=*/1);
  log.lines.clear();
  Decode(cpus, {WideOut(7, -1, 0)}, /*cpu=*/0);
  EXPECT_THAT(log.lines, IsEmpty());
  Decode(cpus, {WideOut(8, 500, 0)}, /*cpu=*/1);
  EXPECT_EQ(log.switches.at(0).prev_state, model::kTaskUnknownState) << "it waits, it is not dead";
}

TEST_F(SwitchDecodeTest, DamagedRecordsAreCountedAndReadNothingBeyondTheirEnd) {
  for (const auto& whole : {WideOut(10, 500, 501), Sample(20, 500, {kKernel, 1, kUser, 3})}) {
    const uint64_t before = cpus.counters().malformed;
    size_t cuts = 0;
    for (size_t size = sizeof(perf_event_header); size < whole.size(); size += 4, ++cuts) {
      Decode(cpus,
             {std::vector<std::byte>(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size))});
    }
    EXPECT_EQ(cpus.counters().malformed - before, cuts);
  }
  Decode(cpus, {WideOut(10, 5'000'000, 501), WideOut(10, 500, 5'000'000)});
  EXPECT_THAT(log.lines, IsEmpty());
  RecordBytes bytes = test::SampleHead(1, 1, 1, 5);
  bytes.Add(~uint64_t{0}).Add(uint64_t{1});
  const uint64_t before = cpus.counters().malformed;
  Decode(cpus, {bytes.Record(PERF_RECORD_SAMPLE)});
  EXPECT_EQ(cpus.counters().malformed, before + 1);
}

}  // namespace
}  // namespace offcpu::source::perf
