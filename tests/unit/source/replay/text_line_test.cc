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
      // no CPU, no thread, names like events
      {"prog one 13 31283.950328936: sched:sched_switch: x", -1, 31'283'950'328'936, -1},
      {"prog one 12/13 31283.950328: sched:sched_switch: x", -1, 31'283'950'328'000, 12},
      {"31283.950328: sched:sched_switch: x", -1, 31'283'950'328'000, -1},
      {":-1 -1 31283.950328: sched:sched_switch: x", -1, 31'283'950'328'000, -1},
      {":-1 -1/-1 [001] 31283.950328: sched:sched_switch: x", 1, 31'283'950'328'000, -1},
      {"[003] 31283.950328: sched:sched_switch: x", 3, 31'283'950'328'000, -1},
      {" sched_wakeup: 1.0: sched_switch:-7 [001] d..2 5.000001: sched_switch: x", 1, 5'000'001'000,
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
        "prog-1 [99999999] 1.0: sched_switch: x", "a b 1.0: sched_switch: x",
        "a 1 1.0: sched_switch_x: y", "a 1 1.0: PERF_RECORD_MMAP x"}) {
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

TEST(TextTaskTest, BirthsNamesAndEndsAreReadInBothForms) {
  const auto forked = ParseTextFork("PERF_RECORD_FORK", "(11:12):(3:4)");
  ASSERT_TRUE(forked);
  EXPECT_EQ(forked->pid, 11);
  EXPECT_EQ(forked->tid, 12);
  EXPECT_EQ(forked->parent_pid, 3);
  EXPECT_EQ(forked->parent_tid, 4);
  const auto traced =
      ParseTextFork("sched_process_fork", "comm=a pid=1 b pid=4 child_comm=c pid=9 child_pid=12");
  ASSERT_TRUE(traced);
  EXPECT_EQ(traced->pid, -1);
  EXPECT_EQ(traced->tid, 12);
  EXPECT_EQ(traced->parent_tid, 4);

  const auto renamed = ParseTextName("PERF_RECORD_COMM", "a:b c:11/12");
  ASSERT_TRUE(renamed);
  EXPECT_FALSE(renamed->exec);
  EXPECT_EQ(renamed->comm, "a:b c");
  EXPECT_EQ(renamed->pid, 11);
  EXPECT_EQ(renamed->tid, 12);
  EXPECT_TRUE(ParseTextName("PERF_RECORD_COMM", "exec: sleep:12/12")->exec);
  const auto executed =
      ParseTextName("sched_process_exec", "filename=/opt/a pid=1/my prog pid=12 old_pid=13");
  ASSERT_TRUE(executed);
  EXPECT_TRUE(executed->exec);
  EXPECT_EQ(executed->comm, "my prog");
  EXPECT_EQ(executed->tid, 12);

  EXPECT_EQ(ParseTextExit("PERF_RECORD_EXIT", "(11:12):(3:4)")->tid, 12);
  EXPECT_EQ(
      ParseTextExit("sched_process_exit", "comm=a pid=1 pid=12 prio=120 group_dead=true")->tid, 12);
  EXPECT_EQ(ParseLostRecord("lost 17"), 17U);
}

TEST(TextTaskTest, WhatIsCutIsNotRead) {
  const auto cut_everywhere = [](const std::string& text, const auto& parse) {
    EXPECT_TRUE(parse(text)) << text;
    for (size_t size = 0; size < text.size(); ++size) {
      EXPECT_FALSE(parse(text.substr(0, size))) << text.substr(0, size);
    }
  };
  cut_everywhere("(1:2):(3:4)",
                 [](std::string_view text) { return ParseTextFork("PERF_RECORD_FORK", text); });
  cut_everywhere("comm=a pid=1 child_comm=c child_pid=2",
                 [](std::string_view text) { return ParseTextFork("sched_process_fork", text); });
  cut_everywhere("a:1/2",
                 [](std::string_view text) { return ParseTextName("PERF_RECORD_COMM", text); });
  cut_everywhere("(1:2)",
                 [](std::string_view text) { return ParseTextExit("PERF_RECORD_EXIT", text); });
  cut_everywhere("lost 1", ParseLostRecord);
  EXPECT_FALSE(ParseTextFork("PERF_RECORD_FORK", "(1:2):(3:-4)"));
  EXPECT_FALSE(ParseTextExit("PERF_RECORD_EXIT", "(:)"));
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
  // Without address, without offset and module, without a name.
  EXPECT_EQ(*ParseTextFrame("\t__schedule+0x1 ([kernel.kallsyms])"),
            (model::SymbolFrame{model::FrameKind::kKernel, false, "__schedule", "[kernel]"}));
  EXPECT_EQ(*ParseTextFrame("\tadd (libx.so)"),
            (model::SymbolFrame{model::FrameKind::kUser, false, "add", "libx.so"}));
  EXPECT_EQ(*ParseTextFrame("\t            7f12 main"),
            (model::SymbolFrame{model::FrameKind::kUser, false, "main", ""}));
  EXPECT_EQ(*ParseTextFrame("\tffffffff81000000 schedule"),
            (model::SymbolFrame{model::FrameKind::kKernel, false, "schedule", ""}));
  EXPECT_EQ(ParseTextFrame("\t7f12 (libx.so)")->name, "[unknown]");
  EXPECT_EQ(ParseTextFrame("\t7f12 f (/tmp/my x.so (deleted))")->module, "my x.so");
  for (const char* line : {"", "x y (z)", "  ", "  ffff", "  main.c:12", " => "}) {
    EXPECT_FALSE(ParseTextFrame(line)) << line;
  }
}

}  // namespace
}  // namespace offcpu::source::replay
