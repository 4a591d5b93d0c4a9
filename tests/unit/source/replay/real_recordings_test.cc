// SPDX-License-Identifier: MIT
// Recordings of other people's machines, read where they lie (OFFCPU_TEST_DATA).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <filesystem>

#include "source/replay/open.h"
#include "source/replay/perf_replay.h"
#include "tests/support/replayed_events.h"
#include "tests/support/scratch_tree.h"

namespace offcpu::source::replay {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class RealRecordingsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(Path(""))) GTEST_SKIP() << "no recordings in " << Path("");
  }
  static std::string Path(const std::string& name) {
    return testing::TestData("perf-data/" + name);
  }
  // All records of a recording, counted.
  static std::unique_ptr<PerfReader> ReadAll(const std::string& name) {
    auto input = Input::Open(Path(name));
    if (!input) {
      ADD_FAILURE() << input.error().message;
      return nullptr;
    }
    auto reader = PerfReader::Open(std::move(*input));
    if (!reader) {
      ADD_FAILURE() << reader.error().message;
      return nullptr;
    }
    PerfItem item;
    for (;;) {
      const auto more = (*reader)->Next(&item);
      EXPECT_TRUE(more) << name;
      if (!more || !*more) return std::move(*reader);
    }
  }
  static uint64_t Records(const PerfReader& reader, uint32_t type) {
    return reader.seen().records.at(type);
  }
  static uint64_t Samples(const PerfReader& reader) {
    uint64_t sum = 0;
    for (const uint64_t count : reader.seen().samples) sum += count;
    return sum;
  }
  static std::string RefusalOf(const std::string& name) {
    return test::ReplayFile(Path(name)).refusal;
  }
};

TEST_F(RealRecordingsTest, ATaskWithSwitchRecordsHasBothHalves) {
  const auto replayed = test::ReplayFile(Path("perfparser/parallel_static_gcc/perf.data.zstd"));
  EXPECT_THAT(replayed.refusal, IsEmpty());
  EXPECT_FALSE(replayed.damaged);
  EXPECT_EQ(replayed.events.switches, 9U);
  // As perf script of Linux 6.1 shows them.
  std::vector<uint32_t> states(8, model::kTaskUninterruptible);
  states.push_back(model::kTaskInterruptible);
  EXPECT_EQ(replayed.events.states, states);
  EXPECT_GT(replayed.events.switch_ins, 9U);
  EXPECT_GT(replayed.events.kernel_frames, 9U);
  EXPECT_TRUE(replayed.events.in_order);
}

TEST_F(RealRecordingsTest, OtherEventsAreCountedAndNotUsed) {
  const auto reader = ReadAll("perfparser/parallel_static_gcc/perf.data.zstd");
  ASSERT_NE(reader, nullptr);
  ASSERT_EQ(reader->events().events().size(), 2U);
  EXPECT_EQ(reader->seen().samples, (std::vector<uint64_t>{233, 9}));
  EXPECT_EQ(reader->events().events()[0].role, Role::kOther);
  EXPECT_EQ(reader->events().events()[1].role, Role::kSwitch);
  EXPECT_GT(reader->compressed_records(), 0U);
  EXPECT_EQ(reader->features().release, "5.18.1-arch1-1");
}

TEST_F(RealRecordingsTest, RecordsOfTasksAreCountedAsTheirMakersSay) {
  const auto forks = ReadAll("quipper/perf.data.forkexit-3.8");
  ASSERT_NE(forks, nullptr);
  EXPECT_EQ(Records(*forks, PERF_RECORD_FORK), 254U);
  EXPECT_EQ(Records(*forks, PERF_RECORD_EXIT), 510U);
  EXPECT_EQ(Records(*forks, PERF_RECORD_COMM), 488U);
  const auto lost = ReadAll("quipper/perf.data.lost_samples-4.4");
  ASSERT_NE(lost, nullptr);
  EXPECT_EQ(Records(*lost, PERF_RECORD_LOST_SAMPLES), 2U);
  const auto switches = ReadAll("quipper/perf.data.ctx_switch_namespaces-4.14");
  ASSERT_NE(switches, nullptr);
  EXPECT_GT(switches->seen().switch_in_records + switches->seen().switch_out_records, 0U);
  EXPECT_GT(Records(*switches, PERF_RECORD_NAMESPACES), 0U);
  const auto throttled = ReadAll("quipper/perf.data.throttle-3.8");
  ASSERT_NE(throttled, nullptr);
  EXPECT_GT(Records(*throttled, PERF_RECORD_THROTTLE), 0U);
}

TEST_F(RealRecordingsTest, TracepointSamplesOfSimpleperfAreRead) {
  const auto reader = ReadAll("simpleperf/perf_with_tracepoint_event.data");
  ASSERT_NE(reader, nullptr);
  EXPECT_THAT(reader->Damages(), IsEmpty());
  EXPECT_EQ(Samples(*reader), 45U);
  EXPECT_TRUE(reader->events().Has(Role::kSwitch));
  EXPECT_THAT(RefusalOf("simpleperf/perf_with_tracepoint_event.data"),
              HasSubstr("not when they came back"));
}

TEST_F(RealRecordingsTest, SwitchesWithoutFieldsAreRefused) {
  const auto reader = ReadAll("simpleperf/perf_with_trace_offcpu.data");
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(Samples(*reader), 2369U);
  EXPECT_THAT(RefusalOf("simpleperf/perf_with_trace_offcpu.data"), HasSubstr("perf record -a"));
}

TEST_F(RealRecordingsTest, RecordingsOfOtherEventsAreRefusedWithTheCommandToUse) {
  for (const char* name :
       {"linux-perf-data/sleep.data", "linux-perf-data/sleep.compressed.data",
        "linux-perf-data/sleep.compressed2.data", "linux-perf-data/sleep.compressed.pipe.data",
        "perfparser/fork_static_gcc/perf.data.zstd", "perfparser/probe.data.file",
        "perfparser/probe.data.stream", "perfparser/contentsize.data", "hotspot/perf.data.true.v1",
        "hotspot/perf.data.true.v2", "quipper/perf.data.i686-3.4",
        "quipper/perf.data.armv7.perf_3.14-3.8", "quipper/perf.data.hybrid_topology",
        "quipper/perf.data.group_desc-4.14", "quipper/perf.data.proc.map.timeout-3.18",
        "quipper/perf.data.piped.header_features-4.16", "quipper/perf.data.piped.no_attr_ids-4.14",
        "simpleperf/perf_with_multiple_pids_and_tids.data",
        "simpleperf/perf_with_ip_zero_in_callchain.data"}) {
    EXPECT_THAT(RefusalOf(name), HasSubstr("no context switches")) << name;
    EXPECT_THAT(RefusalOf(name), HasSubstr(std::string(kRecordAll))) << name;
    const auto reader = ReadAll(name);
    ASSERT_NE(reader, nullptr) << name;
    EXPECT_THAT(reader->seen().records, Contains(Gt(0U))) << name;
    EXPECT_THAT(reader->Damages(), IsEmpty()) << name;
    EXPECT_EQ(reader->seen().malformed, 0U) << name;
  }
}

TEST_F(RealRecordingsTest, CompressedFormsHoldTheSameKindsOfRecords) {
  for (const char* name :
       {"linux-perf-data/sleep.compressed.data", "linux-perf-data/sleep.compressed2.data",
        "linux-perf-data/sleep.compressed.pipe.data"}) {
    const auto reader = ReadAll(name);
    ASSERT_NE(reader, nullptr) << name;
    EXPECT_GT(reader->compressed_records(), 0U) << name;
    EXPECT_GT(Records(*reader, PERF_RECORD_MMAP2), 0U) << name;
  }
}

TEST_F(RealRecordingsTest, AZeroSizeRecordEndsTheReading) {
  const auto reader = ReadAll("quipper/perf.data.piped.corrupted.zero_size_sample-3.2");
  ASSERT_NE(reader, nullptr);
  EXPECT_THAT(reader->Damages(), Each(HasSubstr("no length")));
  EXPECT_THAT(reader->Damages(), Not(IsEmpty()));
}

TEST_F(RealRecordingsTest, WhatIsNoRecordingIsRefusedByName) {
  EXPECT_THAT(RefusalOf("hotspot/perf.data.broken.gz"), HasSubstr("gzip"));
  EXPECT_THAT(RefusalOf("simpleperf/invalid_perf.data"), HasSubstr("not a recording"));
}

TEST_F(RealRecordingsTest, WhatFuzzersFoundElsewhereIsSurvived) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(Path("quipper-fuzz"))) {
    if (entry.path().extension() == ".md") continue;
    ++files;
    const auto replayed = test::ReplayFile(entry.path().string());
    EXPECT_TRUE(!replayed.refusal.empty() || replayed.damaged) << entry.path();
  }
  EXPECT_EQ(files, 21U);
}

}  // namespace
}  // namespace offcpu::source::replay
