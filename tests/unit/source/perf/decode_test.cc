// SPDX-License-Identifier: MIT
#include "source/perf/decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/perf_records.h"

namespace offcpu::source::perf {
namespace {

using test::EventLog;
using test::RecordBytes;
using testing::ElementsAre;
using testing::IsEmpty;

class DecodeTest : public testing::Test {
 protected:
  static DecodeOptions Options() {
    DecodeOptions options;
    options.switch_format = test::TestSwitchFormat();
    options.wakeup_format = test::TestWakeupFormat();
    options.max_stack = 5;
    return options;
  }

  void Decode(const std::vector<std::byte>& record, EventKind kind) {
    decoder.Decode(record, kind, TimeOfRecord(record), /*cpu=*/3, log);
  }

  Decoder decoder{Options()};
  EventLog log;
};

TEST_F(DecodeTest, ASwitchHasItsThreadsStateAndChainSplitAtTheMarkers) {
  test::SwitchRecord record{77, 500, 1, 501, {}, true, 499, 500};
  record.chain = {
      static_cast<uint64_t>(PERF_CONTEXT_KERNEL), 0xffffffff81000010, 0xffffffff81000020,
      static_cast<uint64_t>(PERF_CONTEXT_USER),   0x401000,           0x402000};
  Decode(test::MakeSwitch(record), EventKind::kStackSwitch);
  ASSERT_EQ(log.switches.size(), 1U);
  const model::Switch& event = log.switches[0];
  EXPECT_EQ(event.time, 77U);
  EXPECT_EQ(event.cpu, 3);
  EXPECT_EQ(event.prev_tid, 500);
  EXPECT_EQ(event.prev_pid, 499);
  EXPECT_EQ(event.next_tid, 501);
  EXPECT_EQ(event.prev_state, model::kTaskInterruptible);
  EXPECT_FALSE(event.preempted);
  EXPECT_EQ(model::CommView(event.prev_comm), "prev");
  EXPECT_THAT(log.kernel, ElementsAre(0xffffffff81000010, 0xffffffff81000020));
  EXPECT_THAT(log.user, ElementsAre(0x401000, 0x402000));
  EXPECT_FALSE(event.chain.truncated);
}

TEST_F(DecodeTest, AChainAsLongAsTheLimitWasCut) {
  test::SwitchRecord record{1, 500, 1, 501, {}, true, 0, 0};
  record.chain = {static_cast<uint64_t>(PERF_CONTEXT_USER), 1, 2, 3, 4, 5};
  Decode(test::MakeSwitch(record), EventKind::kStackSwitch);
  EXPECT_TRUE(log.switches.at(0).chain.truncated);
}

TEST_F(DecodeTest, FramesOfAGuestAreNotOurs) {
  test::SwitchRecord record{1, 500, 1, 501, {}, true, 0, 0};
  record.chain = {static_cast<uint64_t>(PERF_CONTEXT_GUEST), 9,
                  static_cast<uint64_t>(PERF_CONTEXT_USER), 1};
  Decode(test::MakeSwitch(record), EventKind::kStackSwitch);
  EXPECT_THAT(log.kernel, IsEmpty());
  EXPECT_THAT(log.user, ElementsAre(1));
}

TEST_F(DecodeTest, ABrokenChainsZerosAreNoFrames) {
  test::SwitchRecord record{1, 500, 1, 501, {}, true, 0, 0};
  record.chain = {static_cast<uint64_t>(PERF_CONTEXT_KERNEL),
                  7,
                  8,
                  static_cast<uint64_t>(PERF_CONTEXT_USER),
                  1,
                  2,
                  3,
                  0};
  Decode(test::MakeSwitch(record), EventKind::kStackSwitch);
  EXPECT_THAT(log.kernel, ElementsAre(7, 8));
  EXPECT_THAT(log.user, ElementsAre(1, 2, 3));
}

TEST_F(DecodeTest, ARecordAtAnyAddressIsRead) {
  test::SwitchRecord record{1, 500, 1, 501, {}, true, 0, 0};
  record.chain = {static_cast<uint64_t>(PERF_CONTEXT_KERNEL), 7, 8,
                  static_cast<uint64_t>(PERF_CONTEXT_USER), 1};
  const std::vector<std::byte> bytes = test::MakeSwitch(record);
  std::vector<std::byte> shifted(bytes.size() + 1);
  std::copy(bytes.begin(), bytes.end(), shifted.begin() + 1);
  const auto odd = std::span<const std::byte>(shifted).subspan(1);
  decoder.Decode(odd, EventKind::kStackSwitch, TimeOfRecord(odd), /*cpu=*/3, log);
  EXPECT_THAT(log.kernel, ElementsAre(7, 8));
  EXPECT_THAT(log.user, ElementsAre(1));
}

TEST_F(DecodeTest, ThePreemptMarkIsNoState) {
  Decode(test::MakeSwitch({1, 500, 0x100, 501, {}, false, 0, 0}), EventKind::kPlainSwitch);
  EXPECT_TRUE(log.switches.at(0).preempted);
  EXPECT_EQ(log.switches.at(0).prev_state, model::kTaskRunning);
  EXPECT_FALSE(log.switches.at(0).chain.present);
}

// E1, K7.
TEST_F(DecodeTest, AReapedThreadsHeadSaysMinusOneAndItsEventWhoItWas) {
  Decode(test::MakeSwitch({1, 500, 0x10, 0, {}, false, -1, -1}), EventKind::kPlainSwitch);
  EXPECT_EQ(log.switches.at(0).prev_tid, 500);
  EXPECT_EQ(log.switches.at(0).prev_pid, -1);
}

TEST_F(DecodeTest, AnIdThatCannotExistIsRefused) {
  Decode(test::MakeSwitch({1, 5'000'000, 1, 501, {}, false, 0, 0}), EventKind::kPlainSwitch);
  Decode(test::MakeSwitch({1, 500, 1, -3, {}, false, 0, 0}), EventKind::kPlainSwitch);
  EXPECT_THAT(log.lines, IsEmpty());
  EXPECT_EQ(decoder.counters().malformed, 2U);
}

// A12: the thread of a switch record stands in its trailer; the fields name the other one.
TEST_F(DecodeTest, OfASwitchRecordTheTrailersThreadComesIn) {
  RecordBytes in;
  in.Add(int32_t{900}).Add(int32_t{901});  // the one that left
  Decode(test::AddTrailer(in, 500, 502, 42).Record(PERF_RECORD_SWITCH_CPU_WIDE),
         EventKind::kSwitchRecords);
  RecordBytes out;
  out.Add(int32_t{900}).Add(int32_t{901});
  Decode(test::AddTrailer(out, 500, 502, 43)
             .Record(PERF_RECORD_SWITCH_CPU_WIDE, PERF_RECORD_MISC_SWITCH_OUT),
         EventKind::kSwitchRecords);
  EXPECT_THAT(log.lines, ElementsAre("42 in 502"));
}

TEST_F(DecodeTest, ForkExecAndExitAreRead) {
  RecordBytes fork;
  fork.Add(int32_t{600}).Add(int32_t{500}).Add(int32_t{601}).Add(int32_t{501}).Add(uint64_t{0});
  Decode(test::AddTrailer(fork, 500, 501, 5).Record(PERF_RECORD_FORK), EventKind::kSideband);
  RecordBytes exec;
  exec.Add(int32_t{600}).Add(int32_t{600}).AddBytes("true", 8);
  Decode(test::AddTrailer(exec, 600, 600, 6).Record(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC),
         EventKind::kSideband);
  RecordBytes exit;
  exit.Add(int32_t{600}).Add(int32_t{500}).Add(int32_t{601}).Add(int32_t{501}).Add(uint64_t{0});
  Decode(test::AddTrailer(exit, 600, 601, 7).Record(PERF_RECORD_EXIT), EventKind::kSideband);
  EXPECT_THAT(log.lines, ElementsAre("5 fork 501>601", "6 exec 600 true", "7 exit 601"));
}

TEST_F(DecodeTest, AMappingHasItsFile) {
  RecordBytes map;
  map.Add(int32_t{600}).Add(int32_t{600}).Add(uint64_t{0x400000}).Add(uint64_t{0x1000});
  map.Add(uint64_t{0}).Add(uint32_t{8}).Add(uint32_t{1}).Add(uint64_t{99}).Add(uint64_t{0});
  map.Add(uint32_t{5}).Add(uint32_t{2}).AddBytes("/bin/true", 16);
  Decode(test::AddTrailer(map, 600, 600, 8).Record(PERF_RECORD_MMAP2), EventKind::kSideband);
  EXPECT_THAT(log.lines, ElementsAre("8 map /bin/true"));
}

TEST_F(DecodeTest, ARecordCutAnywhereIsCountedAndReadsNothingBeyondItsEnd) {
  test::SwitchRecord record{77, 500, 1, 501, {}, true, 0, 0};
  record.chain = {static_cast<uint64_t>(PERF_CONTEXT_USER), 0x401000, 0x402000};
  const std::vector<std::byte> whole = test::MakeSwitch(record);
  for (size_t size = sizeof(perf_event_header); size < whole.size() - 8; ++size) {
    const std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
    Decode(cut, EventKind::kStackSwitch);
  }
  EXPECT_THAT(log.lines, IsEmpty());
  EXPECT_EQ(decoder.counters().malformed, whole.size() - 8 - sizeof(perf_event_header));
}

TEST_F(DecodeTest, AChainLongerThanItsRecordIsRefused) {
  RecordBytes bytes = test::SampleHead(test::kStackEvent, 1, 1, 5);
  bytes.Add(~uint64_t{0}).Add(uint64_t{1});
  Decode(bytes.Record(PERF_RECORD_SAMPLE), EventKind::kStackSwitch);
  EXPECT_EQ(decoder.counters().malformed, 1U);
}

TEST_F(DecodeTest, UnknownRecordsAreSkippedAndCounted) {
  RecordBytes bytes;
  bytes.Add(uint64_t{1});
  Decode(test::AddTrailer(bytes, 1, 1, 1).Record(PERF_RECORD_THROTTLE), EventKind::kSideband);
  EXPECT_EQ(decoder.counters().unknown, 1U);
  EXPECT_THAT(log.lines, IsEmpty());
}

// E7: inside a pid namespace the event's ids are the host's, the head's ids ours.
TEST(PidTranslatorTest, IdsAreLearntWhereBothAreTold) {
  PidTranslator pids(/*active=*/true);
  EXPECT_EQ(pids.Translate(40'001), 0) << "not seen yet";
  EXPECT_EQ(pids.Learn(40'001, 5), 5);
  EXPECT_EQ(pids.Translate(40'001), 5);
  EXPECT_EQ(pids.Learn(40'001, -1), 5) << "reaped";
  EXPECT_EQ(pids.Learn(40'002, 0), 0) << "outside the namespace";
  EXPECT_EQ(pids.Translate(40'002), 0);
}

TEST(PidTranslatorTest, InTheInitialNamespaceIdsAreTheEvents) {
  PidTranslator pids(/*active=*/false);
  EXPECT_EQ(pids.Learn(500, -1), 500);
  EXPECT_EQ(pids.Translate(501), 501);
}

}  // namespace
}  // namespace offcpu::source::perf
