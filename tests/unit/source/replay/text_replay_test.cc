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
