// SPDX-License-Identifier: MIT
#include "kernel-compat/sched_formats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/event_formats.h"

namespace offcpu::kernel_compat {
namespace {

using test::FixtureFormat;
using test::RawRecord;
using test::Replaced;

// What a kernel's sched_switch looks like; offsets and sizes in bytes.
struct SwitchFixture {
  const char* kernel;
  uint16_t id;
  uint16_t prev_comm;
  uint16_t prev_pid;
  uint16_t prev_state;
  uint16_t state_size;
  uint16_t next_pid;
  uint64_t preempt_mark;
};
constexpr SwitchFixture kSwitches[] = {
    {"3.0-x86_64", 57, 12, 28, 40, 8, 64, 0},
    {"3.4-armv7l", 61, 8, 24, 32, 4, 52, 0x200},
    {"3.10-armv7l", 74, 8, 24, 32, 4, 52, 0x400},
    {"3.10-x86_64", 281, 8, 24, 32, 8, 56, 0x400},
    {"4.4-x86_64", 285, 8, 24, 32, 8, 56, 0x800},
    {"4.9-x86_64", 296, 8, 24, 32, 8, 56, 0x1000},
    {"4.18-rt-x86_64", 306, 12, 28, 40, 8, 64, 0x100},
    {"5.10-x86_64", 315, 8, 24, 32, 8, 56, 0x100},
    {"5.18-aarch64", 322, 8, 24, 32, 8, 56, 0x100},
    {"6.1-rt-x86_64", 311, 12, 28, 40, 8, 64, 0x100},
    {"6.18-x86_64", 330, 8, 24, 32, 8, 56, 0x100},
};

class EverySwitchFixture : public testing::TestWithParam<SwitchFixture> {};
INSTANTIATE_TEST_SUITE_P(Kernels, EverySwitchFixture, testing::ValuesIn(kSwitches),
                         [](const auto& each) {
                           std::string name = each.param.kernel;
                           for (char& c : name) {
                             if (c == '.' || c == '-') c = '_';
                           }
                           return name;
                         });

TEST_P(EverySwitchFixture, GivesTheLayoutOfItsKernel) {
  const SwitchFixture& kernel = GetParam();
  const auto format =
      ParseSwitchFormat(FixtureFormat(kernel.kernel, "sched/sched_switch"), std::nullopt);
  ASSERT_TRUE(format) << format.error().message;
  EXPECT_EQ(format->id, kernel.id);
  EXPECT_EQ(format->prev_comm.offset, kernel.prev_comm);
  EXPECT_EQ(format->prev_comm.size, 16);
  EXPECT_EQ(format->prev_pid, (FieldLayout{kernel.prev_pid, 4, true, FieldKind::kPlain}));
  EXPECT_EQ(format->prev_state,
            (FieldLayout{kernel.prev_state, kernel.state_size, true, FieldKind::kPlain}));
  EXPECT_EQ(format->next_pid, (FieldLayout{kernel.next_pid, 4, true, FieldKind::kPlain}));
  EXPECT_EQ(format->record_size, kernel.next_pid + 4U);
  EXPECT_EQ(format->states.preempt_mark(), kernel.preempt_mark);
  EXPECT_EQ(format->states.origin(), StateDecoder::Origin::kPrintText);
}

TEST_P(EverySwitchFixture, DecodesARecordOfItsKernel) {
  const SwitchFixture& kernel = GetParam();
  const auto format =
      ParseSwitchFormat(FixtureFormat(kernel.kernel, "sched/sched_switch"), std::nullopt);
  ASSERT_TRUE(format) << format.error().message;
  RawRecord record(kernel.next_pid + 12U);
  record.PutText(kernel.prev_comm, "reader").Put(kernel.prev_pid, int32_t{4711});
  record.Put(format->common_pid.offset, int32_t{4711});
  record.Put(kernel.next_pid, int32_t{4194304});
  const int64_t states[] = {0, 2, static_cast<int64_t>(kernel.preempt_mark)};
  const bool preempted[] = {false, false, kernel.preempt_mark != 0};
  for (size_t i = 0; i < 3; ++i) {
    if (kernel.state_size == 4) {
      record.Put(kernel.prev_state, static_cast<int32_t>(states[i]));
    } else {
      record.Put(kernel.prev_state, states[i]);
    }
    model::Switch out;
    ASSERT_TRUE(ReadSwitch(record.bytes(), *format, &out));
    EXPECT_EQ(out.prev_tid, 4711);
    EXPECT_EQ(out.next_tid, 4194304);
    EXPECT_EQ(model::CommView(out.prev_comm), "reader");
    EXPECT_EQ(out.prev_state, states[i] == 2 ? model::kTaskUninterruptible : 0U);
    EXPECT_EQ(out.preempted, preempted[i]);
  }
}

TEST_P(EverySwitchFixture, RefusesARecordShorterThanItsFields) {
  const auto format =
      ParseSwitchFormat(FixtureFormat(GetParam().kernel, "sched/sched_switch"), std::nullopt);
  ASSERT_TRUE(format) << format.error().message;
  const RawRecord record(format->record_size);
  model::Switch out;
  out.prev_tid = -7;
  for (size_t size = 0; size < format->record_size; ++size) {
    EXPECT_FALSE(ReadSwitch(record.bytes().first(size), *format, &out)) << size;
  }
  EXPECT_EQ(out.prev_tid, -7);
  EXPECT_TRUE(ReadSwitch(record.bytes(), *format, &out));
}

// A real-time kernel's extra common bytes move every field: with another kernel's format, all of
// them would be read at wrong places.
TEST_P(EverySwitchFixture, RefusesARecordWhereSomebodyElseRanThanLeaves) {
  const SwitchFixture& kernel = GetParam();
  const auto format =
      ParseSwitchFormat(FixtureFormat(kernel.kernel, "sched/sched_switch"), std::nullopt);
  ASSERT_TRUE(format) << format.error().message;
  RawRecord record(kernel.next_pid + 12U);
  record.Put(format->common_pid.offset, int32_t{4711}).Put(kernel.prev_pid + 4U, int32_t{4711});
  model::Switch out;
  EXPECT_FALSE(ReadSwitch(record.bytes(), *format, &out));
  record.Put(kernel.prev_pid, int32_t{4711});
  EXPECT_TRUE(ReadSwitch(record.bytes(), *format, &out));
}

TEST(SchedFormats, OldNamesBehindTheNulOfACommDoNotShow) {
  const auto format =
      ParseSwitchFormat(FixtureFormat("6.18-x86_64", "sched/sched_switch"), std::nullopt);
  ASSERT_TRUE(format);
  RawRecord record(64);
  record.PutText(8, "kworker/0:1").PutText(8, "sh");
  model::Switch out;
  ASSERT_TRUE(ReadSwitch(record.bytes(), *format, &out));
  EXPECT_EQ(out.prev_comm, model::MakeComm("sh"));
}

TEST(SchedFormats, NamesOfAnyLengthAndFieldSizeAreCutAtTheirNul) {
  const std::string letters = "abcdefghijklmnopqrstuvwxyz";
  for (const uint16_t size : {8, 15, 16, 17, 32}) {
    for (size_t length = 0; length <= size; ++length) {
      RawRecord record(64);
      record.PutText(3, letters.substr(0, length));
      const FieldLayout field{3, size, false, FieldKind::kPlain};
      const std::string expected = letters.substr(0, std::min<size_t>({length, size, 15}));
      const model::Comm comm = ReadComm(record.bytes(), field);
      EXPECT_EQ(std::string(comm.data(), 16), expected + std::string(16 - expected.size(), '\0'));
      EXPECT_EQ(ReadComm(record.bytes().first(field.end() - 1), field), model::Comm{});
    }
  }
}

TEST(SchedFormats, NumbersAreExtendedByTheirSignAndEndWithTheRecord) {
  RawRecord record(9);
  record.Put(1, int64_t{-2});
  for (const uint16_t size : {1, 2, 4, 8}) {
    const FieldLayout field{1, size, true, FieldKind::kPlain};
    EXPECT_EQ(ReadField(record.bytes(), field), -2) << size;
    EXPECT_EQ(ReadField(record.bytes().first(size), field), 0) << size;
  }
  EXPECT_EQ(ReadField(record.bytes(), {1, 1, false, FieldKind::kPlain}), 0xfe);
  EXPECT_EQ(ReadField(record.bytes(), {1, 2, false, FieldKind::kPlain}), 0xfffe);
  EXPECT_EQ(ReadField(record.bytes(), {1, 4, false, FieldKind::kPlain}), 0xfffffffe);
  EXPECT_EQ(ReadField(record.bytes(), FieldLayout{}), 0);
}

TEST(SchedFormats, TheTextInBracketsIsIgnored) {
  const std::string text = FixtureFormat("6.18-x86_64", "sched/sched_switch");
  for (const char* brackets : {"[TASK_COMM_LEN]", "[32]", "[TASK_COMM_LEN + (4 * 2)]", "[-1]"}) {
    const auto format = ParseSwitchFormat(
        Replaced(text, "prev_comm[16]", std::string("prev_comm") + brackets), std::nullopt);
    ASSERT_TRUE(format) << brackets << format.error().message;
    EXPECT_EQ(format->prev_comm.size, 16) << brackets;
  }
}

TEST(SchedFormats, ANameMayBecomeADynamicString) {
  std::string text = FixtureFormat("6.18-x86_64", "sched/sched_switch");
  text = Replaced(text, "char prev_comm[16];	offset:8;	size:16;",
                  "__data_loc char[] prev_comm;	offset:8;	size:4;");
  const auto format = ParseSwitchFormat(text, std::nullopt);
  ASSERT_TRUE(format) << format.error().message;
  EXPECT_EQ(format->prev_comm.kind, FieldKind::kDataLoc);
  RawRecord record(96);
  record.Put(8, uint32_t{9U << 16 | 70U}).PutText(70, "loadgen");
  model::Switch out;
  ASSERT_TRUE(ReadSwitch(record.bytes(), *format, &out));
  EXPECT_EQ(model::CommView(out.prev_comm), "loadgen");
}

TEST(SchedFormats, RelativeLocationsCountFromTheEndOfTheField) {
  std::string text = FixtureFormat("6.18-x86_64", "cgroup/cgroup_attach_task");
  text = Replaced(text, "__data_loc char[] dst_path", "__rel_loc char[] dst_path");
  const auto format = ParseCgroupAttachFormat(text);
  ASSERT_TRUE(format) << format.error().message;
  EXPECT_EQ(format->dst_path.kind, FieldKind::kRelLoc);
  RawRecord record(64);
  record.Put(28, uint32_t{6U << 16 | 8U}).PutText(28 + 4 + 8, "/work");
  const auto attach = ReadCgroupAttach(record.bytes(), *format);
  ASSERT_TRUE(attach);
  EXPECT_EQ(attach->path, "/work");
}

TEST(SchedFormats, CgroupMovesAreReadWithIdsOfBothWidths) {
  const auto wide =
      ParseCgroupAttachFormat(FixtureFormat("6.18-x86_64", "cgroup/cgroup_attach_task"));
  const auto narrow =
      ParseCgroupAttachFormat(FixtureFormat("4.18-x86_64", "cgroup/cgroup_attach_task"));
  ASSERT_TRUE(wide && narrow);
  RawRecord record(60);
  record.Put(8, int32_t{2}).Put(16, uint64_t{0x1'0000'0007}).Put(24, int32_t{321});
  record.Put(28, uint32_t{12U << 16 | 36U}).PutText(36, "/slice/unit");
  auto attach = ReadCgroupAttach(record.bytes(), *wide);
  ASSERT_TRUE(attach);
  EXPECT_EQ(attach->tid, 321);
  EXPECT_EQ(attach->root, 2);
  EXPECT_EQ(attach->id, 0x1'0000'0007U);
  EXPECT_EQ(attach->path, "/slice/unit");
  record.Put(12, int32_t{55}).Put(20, int32_t{654}).Put(24, uint32_t{12U << 16 | 36U});
  attach = ReadCgroupAttach(record.bytes(), *narrow);
  ASSERT_TRUE(attach);
  EXPECT_EQ(attach->tid, 654);
  EXPECT_EQ(attach->id, 55U);
  EXPECT_EQ(attach->path, "/slice/unit");
}

TEST(SchedFormats, APathThatLeavesTheRecordIsRefused) {
  const auto format =
      ParseCgroupAttachFormat(FixtureFormat("6.18-x86_64", "cgroup/cgroup_attach_task"));
  ASSERT_TRUE(format);
  RawRecord record(60);
  for (const uint32_t location : {25U << 16 | 36U, 1U << 16 | 60U, 0xffff0000U, 0xffffU, ~0U}) {
    record.Put(28, location);
    EXPECT_FALSE(ReadCgroupAttach(record.bytes(), *format)) << location;
  }
  record.Put(28, uint32_t{24U << 16 | 36U});
  EXPECT_TRUE(ReadCgroupAttach(record.bytes(), *format));
  EXPECT_FALSE(ReadCgroupAttach(record.bytes().first(35), *format));
}

TEST(SchedFormats, AWakeupWithSuccessZeroIsNone) {
  const auto format =
      ParseWakeupFormat(FixtureFormat("3.10-armv7l", "sched/sched_wakeup"), "sched_wakeup");
  ASSERT_TRUE(format) << format.error().message;
  RawRecord record(40);
  record.Put(24, int32_t{99}).Put(32, int32_t{1});
  model::Tid tid = 0;
  EXPECT_EQ(ReadWakeup(record.bytes(), *format, &tid), WakeupRecord::kWakeup);
  EXPECT_EQ(tid, 99);
  record.Put(24, int32_t{98}).Put(32, int32_t{0});
  EXPECT_EQ(ReadWakeup(record.bytes(), *format, &tid), WakeupRecord::kNotAsleep);
  EXPECT_EQ(tid, 99);
  EXPECT_EQ(ReadWakeup(record.bytes().first(35), *format, &tid), WakeupRecord::kTooShort);
}

TEST(SchedFormats, AWakeupWithoutSuccessIsOne) {
  for (const char* kernel : {"5.18-aarch64", "6.18-x86_64"}) {
    for (const char* event : {"sched_wakeup", "sched_waking", "sched_wakeup_new"}) {
      const auto format =
          ParseWakeupFormat(FixtureFormat(kernel, std::string("sched/") + event), event);
      ASSERT_TRUE(format) << format.error().message;
      EXPECT_FALSE(format->success.present());
      RawRecord record(28);
      record.Put(24, int32_t{12});
      model::Tid tid = 0;
      EXPECT_EQ(ReadWakeup(record.bytes(), *format, &tid), WakeupRecord::kWakeup);
      EXPECT_EQ(tid, 12);
    }
  }
}

TEST(SchedFormats, WakeupsOfAllFixturesHaveTheirThreadBehindTheName) {
  for (const auto& kernel : kSwitches) {
    const auto format =
        ParseWakeupFormat(FixtureFormat(kernel.kernel, "sched/sched_wakeup"), "sched_wakeup");
    ASSERT_TRUE(format) << kernel.kernel << format.error().message;
    EXPECT_EQ(format->pid.offset, kernel.prev_pid) << kernel.kernel;
  }
}

// A format with one thing wrong, and what the message must name.
struct Refusal {
  const char* from;
  const char* to;
  const char* names;
};

TEST(SchedFormats, AFormatThatCannotBeUsedIsRefusedByEventAndField) {
  const std::string text = FixtureFormat("6.18-x86_64", "sched/sched_switch");
  const Refusal refusals[] = {
      {"prev_pid;	offset:24;	size:4", "prev_pid;	offset:24;	size:8",
       "field prev_pid has size 8"},
      {"prev_pid;	offset:24;	size:4", "prev_pid;	offset:24;	size:0",
       "field prev_pid"},
      {"pid_t next_pid", "pid_t next_tid", "field next_pid is missing"},
      {"prev_state;	offset:32;	size:8", "prev_state;	offset:32;	size:2",
       "field prev_state has size 2"},
      {"prev_state;	offset:32", "prev_state;	offset:4093", "field prev_state"},
      {"next_pid;	offset:56", "next_pid;	offset:2147483647", "field next_pid"},
      {"prev_comm[16];	offset:8;	size:16", "prev_comm[16];	offset:8;	size:5000",
       "field prev_comm"},
      {"long prev_state;", "long prev_state[1];", "field prev_state is an array"},
      {"char prev_comm[16];", "char prev_comm;", "field prev_comm is a number"},
      {"offset:56", "offset:4294967352", "line 14"},
      {"offset:56", "offset:-56", "line 14"},
      {"offset:56", "offset:", "line 14"},
      {"pid_t next_pid", "pid_t next_pid[", "line 14"},
      {"pid_t next_pid", "struct { int x; } next_pid", "line 14"},
      {"pid_t next_pid", "", "line 14"},
      {"ID: 330", "ID: 0", "line 2"},
      {"ID: 330", "ID: 65536", "line 2"},
      {"name: sched_switch", "name: sched_wakeup", "line 1"},
      {"format:", "formal:", "line 3"},
  };
  for (const auto& each : refusals) {
    const std::string damaged = Replaced(text, each.from, each.to);
    ASSERT_FALSE(damaged.empty()) << each.from;
    const auto format = ParseSwitchFormat(damaged, std::nullopt);
    ASSERT_FALSE(format) << each.to;
    EXPECT_EQ(format.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(format.error().message.find("sched_switch"), std::string::npos);
    EXPECT_NE(format.error().message.find(each.names), std::string::npos) << format.error().message;
  }
}

TEST(SchedFormats, FieldsNobodyReadsMayBeOfAnySize) {
  const std::string text = FixtureFormat("6.18-x86_64", "sched/sched_switch");
  EXPECT_TRUE(ParseSwitchFormat(Replaced(text, "prev_prio;	offset:28;	size:4",
                                         "prev_prio;	offset:28;	size:3"),
                                std::nullopt));
}

TEST(SchedFormats, AFormatCutAnywhereIsRefusedOrReadAsFarAsItIsWhole) {
  for (const auto& kernel : kSwitches) {
    const std::string text = FixtureFormat(kernel.kernel, "sched/sched_switch");
    const auto whole = ParseSwitchFormat(text, std::nullopt);
    ASSERT_TRUE(whole);
    for (size_t size = 0; size < text.size(); ++size) {
      const auto cut =
          ParseSwitchFormat(std::string_view(text).substr(0, size), KernelRelease{9, 9});
      if (!cut) continue;
      EXPECT_GT(size, text.find("next_pid;")) << kernel.kernel;
      EXPECT_EQ(cut->prev_state, whole->prev_state);
      EXPECT_EQ(cut->next_pid, whole->next_pid);
      // A part of the print text must not pass for a kernel without a preempt mark.
      if (cut->states.origin() != StateDecoder::Origin::kPrintText) continue;
      EXPECT_EQ(cut->states.preempt_mark(), kernel.preempt_mark) << size;
      EXPECT_GT(size, text.find("REC->next_comm")) << kernel.kernel;
    }
  }
}

// Every byte of every format in turn becomes each of the bytes that mean something to a parser.
// What is still accepted must be safe to use: a record of the size it asks for is read whole.
TEST(SchedFormats, NoDamagedByteMakesAReadLeaveTheRecord) {
  const RawRecord zeros(kMaxRecordSize);
  for (const char* kernel : {"4.4-x86_64", "6.18-x86_64"}) {
    const std::string text = FixtureFormat(kernel, "sched/sched_switch");
    ASSERT_FALSE(text.empty());
    size_t accepted = 0;
    for (size_t at = 0; at < text.size(); ++at) {
      for (const char byte : std::string_view("\"(){}[];:,9-\n\0 x", 16)) {
        std::string damaged = text;
        damaged[at] = byte;
        const auto format = ParseSwitchFormat(damaged, std::nullopt);
        if (!format) continue;
        ++accepted;
        ASSERT_LE(format->record_size, kMaxRecordSize);
        model::Switch out;
        const std::vector<std::byte> raw(format->record_size);
        ASSERT_TRUE(ReadSwitch(raw, *format, &out));
      }
    }
    EXPECT_GT(accepted, 0U);
  }
}

TEST(SchedFormats, DeepOrLongTextsAreRefusedOrGuessedAtNotFollowed) {
  const std::string text = FixtureFormat("6.18-x86_64", "sched/sched_switch");
  for (const char* piece :
       {"(", "!", "REC->prev_state ? ", "1 | ", "{", "__print_flags(", "\"x\" "}) {
    std::string deep = text.substr(0, text.find("print fmt:")) + "print fmt: \"%s\", ";
    while (deep.size() < 60000) deep += piece;
    const auto format = ParseSwitchFormat(deep, std::nullopt);
    ASSERT_TRUE(format) << piece;
    EXPECT_TRUE(format->states.guessed()) << piece;
  }
  EXPECT_FALSE(ParseSwitchFormat(text + std::string(70000, ' '), std::nullopt));
}

}  // namespace
}  // namespace offcpu::kernel_compat
