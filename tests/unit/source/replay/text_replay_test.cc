// SPDX-License-Identifier: MIT
#include "source/replay/text_replay.h"

#include <filesystem>
#include <string>

#include <gmock/gmock.h>

#include "source/replay/open.h"
#include "tests/support/replayed_events.h"
#include "tests/support/scratch_tree.h"

namespace offcpu::source::replay {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// ---- texts that other programs printed ----------------------------------------------------------

class RealTextsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(Path(""))) GTEST_SKIP() << "no texts in " << Path("");
  }
  static std::string Path(const std::string& name) {
    return testing::TestData("sched-text/" + name);
  }
  static uint64_t Lines(const RecordingInfo& info, const std::string& event) {
    for (const RecordingInfo::Event& each : info.events) {
      if (each.name == event) return each.samples;
    }
    return 0;
  }
};

TEST_F(RealTextsTest, EachSchedulerEventIsRead) {
  struct Case {
    const char* file;
    uint64_t switches;
    uint64_t wakeups;
  };
  for (const Case& each : {Case{"perfview/one_complete_switch.perf.data.dump", 2, 0},
                           Case{"perfview/one_incomplete_switch.perf.data.dump", 1, 0},
                           Case{"perfview/mixed_switches.perf.data.dump", 4, 0},
                           Case{"perfview/notimeblocked_induced.perf.data.dump", 2, 0},
                           Case{"tracecompass-incubator/trace-android-sched", 82, 57},
                           Case{"catapult/android_systrace.txt", 58, 33}}) {
    const auto info = DescribeRecording(Path(each.file));
    ASSERT_TRUE(info) << each.file;
    EXPECT_EQ(Lines(*info, "sched_switch"), each.switches) << each.file;
    EXPECT_EQ(Lines(*info, "sched_wakeup"), each.wakeups) << each.file;
    EXPECT_EQ(info->malformed, 0U) << each.file;
    EXPECT_FALSE(info->refusal) << each.file;
  }
}

TEST_F(RealTextsTest, ASwitchThatIsAnsweredIsAnInterval) {
  const auto replayed = test::ReplayFile(Path("perfview/one_complete_switch.perf.data.dump"));
  EXPECT_THAT(replayed.events.lines, Contains("1000000000 cpu 1 1(0x1)>0 chain 0+1"));
}

TEST_F(RealTextsTest, ASwitchThatIsNotAnsweredIsDelivered) {
  const auto replayed = test::ReplayFile(Path("perfview/one_incomplete_switch.perf.data.dump"));
  EXPECT_THAT(replayed.events.lines, ElementsAre("0 cpu 0 0(0x1)>1 chain 0+1"));
}

TEST_F(RealTextsTest, SwitchesOfSeveralCpusKeepTheirOrder) {
  const auto replayed = test::ReplayFile(Path("perfview/mixed_switches.perf.data.dump"));
  EXPECT_THAT(replayed.events.lines,
              ElementsAre("0 cpu 0 0(0x1)>1 chain 0+1", "1000000000 comm 1/1 comm2",
                          "1000000000 cpu 1 1(0x1)>3 chain 0+1", "2000000000 comm 3/3 comm4",
                          "2000000000 cpu 3 3(0x1)>0 chain 0+1", "3000000000 comm 2/2 comm3",
                          "3000000000 cpu 2 2(0x1)>4 chain 0+1"));
}

TEST_F(RealTextsTest, FourCpusOfAnAndroidTraceSleepAndWake) {
  const auto replayed = test::ReplayFile(Path("tracecompass-incubator/trace-android-sched"));
  EXPECT_EQ(replayed.events.switches, 82U);
  EXPECT_EQ(replayed.events.wakeups, 57U) << "all of them are success=1";
  EXPECT_TRUE(replayed.events.in_order);
}

TEST_F(RealTextsTest, BothFormsOfAWakeUpAreReadAndNoSwitchIsARefusal) {
  const std::string path = Path("perfview/one_wakeup.perf.data.dump");
  EXPECT_EQ(test::ReplayFile(path).events.wakeups, 2U);
  const auto info = DescribeRecording(path);
  ASSERT_TRUE(info && info->refusal);
  EXPECT_THAT(info->refusal->message, HasSubstr("no sched_switch"));
}

TEST_F(RealTextsTest, OtherEventsAreNothingToImport) {
  for (const char* file :
       {"perfview/space_sep_command.perf.data.dump", "perfview/no_stack_frames.perf.data.dump"}) {
    const auto info = DescribeRecording(Path(file));
    ASSERT_FALSE(info) << file;
    EXPECT_THAT(info.error().message, HasSubstr("not a recording"));
  }
}

// ---- texts of our own ---------------------------------------------------------------------------

constexpr const char* kTrace =
    "# tracer: nop\n"
    "a-7 [000] d..2 1.000000: sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> "
    "next_comm=b next_pid=8 next_prio=120\n"
    "a-7 [000] d..2 1.000001: <stack trace>\n"
    " => __schedule\n"
    " => futex_wait\n"
    "\n"
    "CPU:0 [LOST 5 EVENTS]\n"
    "b-8 [001] d..2 1.500000: sched_wakeup: comm=a pid=7 prio=120 target_cpu=000\n"
    "b-8 [000] d..2 2.000000: sched_switch: b:8 [120] R+ ==> a:7 [120]\n"
    "b-8 [000] d..2 1.900000: sched_switch: b:8 [120] S ==> a:7 [120]\n"
    "b-8 [000] d..2 2.100000: sched_switch: who knows\n";

TEST(TextReplayTest, ATraceWithAStackALossALateAndABadLine) {
  const auto replayed = test::ReplayBytes(kTrace);
  EXPECT_EQ(replayed.refusal, "");
  EXPECT_THAT(
      replayed.events.lines,
      ElementsAre("1000000000 comm 7/7 a", "1000000000 cpu 0 7(0x1)>8 chain 2+0",
                  "lost 0 on cpu 0 from 1000000000 to 18446744073709551615",
                  "1500000000 cpu 1 wakes 7", "lost 5 on cpu 0 from 1000000000 to 2000000000",
                  "2000000000 comm 8/8 b", "2000000000 cpu 0 8(0x0+)>7 chain 0+0",
                  "lost 1 on cpu 0 from 1900000000 to 2000000000"));
  EXPECT_EQ(replayed.end, 2'000'000'000U);
  EXPECT_TRUE(replayed.damaged) << "a line could not be read";
}

TEST(TextReplayTest, TasksAreBornRenamedAndEnd) {
  const auto replayed = test::ReplayBytes(
      "swapper     0 [000]     0.000000: PERF_RECORD_FORK(1:1):(0:0)\n"
      "sh  5/5 [000] 1.000000001: sched:sched_process_fork: comm=sh pid=5 child_comm=sh "
      "child_pid=6\n"
      "sh     5 [000] 1.000000002: PERF_RECORD_FORK(5:6):(5:5)\n"
      "sh  5/6 [000] 1.000000003: PERF_RECORD_COMM exec: ls:6/6\n"
      "ls  6/6 [000] 1.000000004: PERF_RECORD_EXIT(6:6):(5:5)\n"
      "ls  6/6 [000] 1.000000005: PERF_RECORD_LOST lost 3\n"
      "ls  6/6 [000] 1.000000006: sched:sched_switch: ls:6 [120] Z ==> swapper/0:0 [120]\n");
  EXPECT_THAT(replayed.events.lines,
              ElementsAre("1000000002 fork 5/6", "1000000003 comm 6/6 ls", "1000000004 exit 6/6",
                          "lost 0 on cpu 0 from 1000000004 to 18446744073709551615",
                          "lost 3 on cpu 0 from 1000000004 to 1000000005", "1000000006 comm 6/6 ls",
                          "1000000006 cpu 0 6(0x20)>0 chain 0+0"));
}

// a  ==----====      c0   = on a CPU, - off: a is switched out at 1, and in at 3, where b leaves
// b  ====--==        c1
TEST(TextReplayTest, WithoutCpusWhoLeavesIsWhereItCame) {
  const auto replayed = test::ReplayBytes(
      "a 7 1.000000: sched:sched_switch: a:7 [120] S ==> swapper/0:0 [120]\n"
      "b 8 2.000000: sched:sched_switch: b:8 [120] S ==> swapper/1:0 [120]\n"
      "swapper 0 3.000000: sched:sched_switch: swapper/0:0 [120] R ==> a:7 [120]\n"
      "swapper 0 4.000000: sched:sched_switch: swapper/1:0 [120] R ==> b:8 [120]\n"
      "a 7 5.000000: sched:sched_switch: a:7 [120] S ==> c:9 [120]\n");
  EXPECT_EQ(replayed.refusal, "");
  std::vector<std::string> switches;
  for (const std::string& line : replayed.events.lines) {
    if (line.find("chain") != std::string::npos) switches.push_back(line);
  }
  EXPECT_THAT(
      switches,
      ElementsAre("1000000000 cpu 0 7(0x1)>0 chain 0+0", "2000000000 cpu 1 8(0x1)>0 chain 0+0",
                  "3000000000 cpu 1 0(0x0)>7 chain 0+0", "4000000000 cpu 0 0(0x0)>8 chain 0+0",
                  "5000000000 cpu 1 7(0x1)>9 chain 0+0"));
}

TEST(TextReplayTest, WakingsCountWhereThereAreNoWakeUps) {
  const std::string waking =
      "b-8 [001] d..2 1.500000: sched_waking: comm=a pid=7 prio=120 target_cpu=000\n";
  const std::string wakeup =
      "b-8 [001] d..2 1.500001: sched_wakeup: comm=a pid=7 prio=120 target_cpu=000\n";
  const std::string leaves = "a-7 [000] d..2 1.000000: sched_switch: a:7 [120] S ==> b:8 [120]\n";
  EXPECT_THAT(test::ReplayBytes(leaves + waking).events.lines,
              Contains("1500000000 cpu 1 wakes 7"));
  const auto both = test::ReplayBytes(leaves + waking + wakeup);
  EXPECT_THAT(both.events.lines, Contains("1500001000 cpu 1 wakes 7"));
  EXPECT_EQ(both.events.wakeups, 1U);
}

TEST(TextReplayTest, HowThreadsLeaveIsNotEnough) {
  std::string text;
  for (int i = 1; i <= 9; ++i) {
    text += "a-7 [000] d..2 " + std::to_string(i) +
            ".000000: sched_switch: a:7 [120] S ==> swapper/0:0 [120]\n";
  }
  const auto info = [](const std::string& bytes) {
    const UniqueFd fd(::memfd_create("text", MFD_CLOEXEC));
    OFFCPU_CHECK(::write(fd.get(), bytes.data(), bytes.size()) ==
                 static_cast<ssize_t>(bytes.size()));
    return DescribeRecording("/proc/self/fd/" + std::to_string(fd.get()));
  };
  const auto described = info(text);
  ASSERT_TRUE(described && described->refusal);
  EXPECT_THAT(described->refusal->message, HasSubstr("not when they came back"));
  EXPECT_THAT(described->refusal->hint, HasSubstr("perf record -a"));
}

TEST(TextReplayTest, ATextThatIsCutHasNoMoreThanTheWholeOne) {
  const std::string text = kTrace;
  const auto whole = test::ReplayBytes(text);
  for (size_t size = 0; size < text.size(); ++size) {
    const auto cut = test::ReplayBytes(text.substr(0, size));
    EXPECT_LE(cut.events.switches, whole.events.switches) << size;
    EXPECT_LE(cut.events.wakeups, whole.events.wakeups) << size;
  }
}

}  // namespace
}  // namespace offcpu::source::replay
