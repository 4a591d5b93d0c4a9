// SPDX-License-Identifier: MIT
#include "source/replay/text_line.h"

#include <string>

#include <gmock/gmock.h>

namespace offcpu::source::replay {
namespace {

TEST(TextHeadTest, TheHeadsOfAllPrintersAreRead) {
  struct Case {
    const char* line;
    model::Cpu cpu;
    Nanos time;
    model::Pid pid;
  };
  const Case cases[] = {
      // perf script, with process and thread, with a period, with the thread only
      {"my prog 12/13 [003] 1.5: sched:sched_switch: x", 3, 1'500'000'000, 12},
      {"c\t0/0\t\t[000] 0.0:\t\t\t1 sched:sched_switch: x", 0, 0, 0},
      {"prog 13 [001] 31283.950328936: sched:sched_switch: x", 1, 31'283'950'328'936, -1},
      // trace and trace_pipe, with and without flags, with a process; systrace
      {"  <idle>-0     [002] d..3 365761.624149: sched_switch: x", 2, 365'761'624'149'000, -1},
      {"   a-b 1-42    [010] 5.000001: sched_switch: x", 10, 5'000'001'000, -1},
      {"  prog-42  (  40) [000] d... 5.000001: sched_switch: x", 0, 5'000'001'000, 40},
      {"  prog-42  (-----) [000] d... 5.000001: sched_switch: x", 0, 5'000'001'000, -1},
      // trace-cmd report
      {"          prog-42    [001] d..2.  77.123456789: sched_switch:         x", 1, 77'123'456'789,
       -1},
  };
  for (const Case& each : cases) {
    const auto head = ParseTextHead(each.line);
    ASSERT_TRUE(head) << each.line;
    EXPECT_EQ(head->cpu, each.cpu) << each.line;
    EXPECT_EQ(head->time, each.time) << each.line;
    EXPECT_EQ(head->pid, each.pid) << each.line;
    EXPECT_EQ(head->rest, "x");
    EXPECT_EQ(head->event, "sched_switch");
  }
}

TEST(TextHeadTest, OtherLinesAreNone) {
  for (const char* line :
       {"", "# tracer: nop", "sched_switch: x", "prog-1 [000] sched_switch: x",
        "prog-1 [x] 1.0: sched_switch: x", "prog-1 [000] 1.0: sched_stat: x",
        "prog-1 [000] 99999999999999999999.0: sched_switch: x",
        "prog-1 [000] 18446744073.0: sched_switch: x", "prog-1 [000] 1.0000000001: sched_switch: x",
        "prog-1 [99999999] 1.0: sched_switch: x"}) {
    EXPECT_FALSE(ParseTextHead(line)) << line;
  }
}

TEST(TextSwitchTest, BothFormsAreReadFromTheRight) {
  const auto both = [](const char* prev, const char* next, const char* state) {
    return std::array<std::string, 2>{
        std::string("prev_comm=") + prev + " prev_pid=7 prev_prio=120 prev_state=" + state +
            " ==> next_comm=" + next + " next_pid=8 next_prio=-1",
        std::string(prev) + ":7 [120] " + state + " ==> " + next + ":8 [-1]"};
  };
  for (const char* prev : {"a", "a b", "x=1 y", "a ==> b", "", "c:9 [1]", "[k]"}) {
    for (const char* next : {"b", "kworker/2:2", "q ==> r", "prev_state=S"}) {
      for (const char* state : {"S", "D|K", "R+"}) {
        for (const std::string& text : both(prev, next, state)) {
          const auto parsed = ParseTextSwitch(text);
          ASSERT_TRUE(parsed) << text;
          EXPECT_EQ(parsed->prev_comm, prev) << text;
          EXPECT_EQ(parsed->prev_tid, 7) << text;
          EXPECT_EQ(parsed->prev_state, state) << text;
          EXPECT_EQ(parsed->next_comm, next) << text;
          EXPECT_EQ(parsed->next_tid, 8) << text;
        }
      }
    }
  }
}

TEST(TextSwitchTest, CutTextsAreNone) {
  const std::string texts[] = {
      "prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=b next_pid=8 next_prio=",
      "a:7 [120] S ==> b:8 [120]"};
  for (const std::string& text : texts) {
    EXPECT_TRUE(ParseTextSwitch(text));
    for (size_t size = 0; size < text.size(); ++size) {
      EXPECT_FALSE(ParseTextSwitch(text.substr(0, size))) << text.substr(0, size);
    }
  }
  EXPECT_FALSE(ParseTextSwitch(
      "prev_comm=a prev_pid=-7 prev_prio=120 prev_state=S ==> next_comm=b next_pid=8 next_prio=1"));
}

TEST(TextWakeupTest, AllFormsAreRead) {
  for (const char* text :
       {"comm=my fio pid=243615 prio=120 target_cpu=031 ffffffff8bad311d ttwu ([kernel])",
        "comm=my fio pid=243615 prio=120 success=1 target_cpu=002",
        "task my fio:243615 [120] success=1 [031] ffffffff8bad311d ttwu_do_wakeup ([kernel])",
        "my fio:243615 [120] success=1 CPU:003", "my fio:243615 [120] CPU:003"}) {
    const auto parsed = ParseTextWakeup(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(parsed->comm, "my fio") << text;
    EXPECT_EQ(parsed->tid, 243615) << text;
    EXPECT_TRUE(parsed->woken) << text;
  }
  EXPECT_FALSE(ParseTextWakeup("comm=a pid=1 prio=120 success=0 target_cpu=0")->woken);
  EXPECT_FALSE(ParseTextWakeup("comm=a pid=x prio=120"));
}

TEST(TextLossTest, BothFormsAreRead) {
  EXPECT_EQ(ParseTextLoss("CPU:3 [LOST 12 EVENTS]")->cpu, 3);
  EXPECT_EQ(ParseTextLoss("CPU:3 [LOST 12 EVENTS]")->count, 12U);
  EXPECT_EQ(ParseTextLoss("CPU:1 [7 EVENTS DROPPED]")->count, 7U);
  EXPECT_EQ(ParseTextLoss("CPU:1 [EVENTS DROPPED]")->count, 0U);
  EXPECT_FALSE(ParseTextLoss("CPU:1 [something]"));
  EXPECT_FALSE(ParseTextLoss("CPU:x [LOST 12 EVENTS]"));
}

TEST(TextFrameTest, FramesHaveNameModuleAndKind) {
  const auto kernel =
      ParseTextFrame("\tffffffff813aa3e5 ttwu_do_activate+0x175 ([kernel.kallsyms])");
  ASSERT_TRUE(kernel);
  EXPECT_EQ(*kernel,
            (model::SymbolFrame{model::FrameKind::kKernel, false, "ttwu_do_activate", "[kernel]"}));
  const auto user = ParseTextFrame("\t    7f12 operator() (int)+0x1 (/usr/lib/libx y.so)");
  ASSERT_TRUE(user);
  EXPECT_EQ(*user,
            (model::SymbolFrame{model::FrameKind::kUser, false, "operator() (int)", "libx y.so"}));
  const auto inlined = ParseTextFrame("  7f12 f (inlined)");
  ASSERT_TRUE(inlined);
  EXPECT_TRUE(inlined->inlined);
  EXPECT_EQ(ParseTextFrame(" => schedule")->name, "schedule");
  EXPECT_EQ(ParseTextFrame(" => schedule (ffffffff81000000)")->name, "schedule");
  for (const char* line : {"", "x y (z)", "  ", "  ffff", "  (x)", " => "}) {
    EXPECT_FALSE(ParseTextFrame(line)) << line;
  }
}

}  // namespace
}  // namespace offcpu::source::replay
