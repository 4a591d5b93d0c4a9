// SPDX-License-Identifier: MIT
#include "source/tracefs/decode.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/trace_log.h"
#include "tests/support/trace_pages.h"

namespace offcpu::source::tracefs {
namespace {

using test::Raw;

class TracefsDecodeTest : public testing::Test {
 protected:
  TracefsDecodeTest() { Options({.blocked = true, .runnable = false, .preempted = false}); }

  void Options(kernel_compat::WantedReasons reasons, uint32_t max_stack = 127) {
    DecodeOptions options{test::TraceFormats(), reasons, max_stack,
                          [this](model::Pid pid, Nanos, model::EventSink&) { mapped_ = pid; }};
    decoder_.emplace(std::move(options), threads_);
  }
  void Decode(Nanos time, const Raw& raw) { decoder_->Decode(raw, time, 1, log_); }
  // A switch with the stacks that follow it.
  void Switch(Nanos time, const Raw& raw, const std::vector<Raw>& stacks = {}) {
    if (!decoder_->BeginSwitch(raw, time, 1)) return;
    for (const Raw& stack : stacks) EXPECT_TRUE(decoder_->AddStack(stack));
    decoder_->DeliverSwitch(log_);
  }

  ThreadTable threads_;
  std::optional<Decoder> decoder_;
  test::TraceLog log_;
  test::RecordMaker make_{test::TraceFormats()};
  model::Pid mapped_ = 0;
};

TEST_F(TracefsDecodeTest, ASwitchTellsThreadsStateAndName) {
  threads_.Set(700, 699);
  Switch(50, make_.Switch(700, 2, 0, "writer"));
  Switch(60, make_.Switch(5, 0x100, 700));
  EXPECT_EQ(log_.lines(),
            "50 cpu1 writer 699/700 state 2 > 0\n60 cpu1 worker -1/5 state 0+ > 700\n");
}

TEST_F(TracefsDecodeTest, StacksOfWantedReasonsGoWithTheirSwitch) {
  const auto stacks = std::vector<Raw>{make_.UserStack(700, 699, {0x400100, 0x400200}),
                                       make_.KernelStack(700, {0xffffffff81000001})};
  Switch(50, make_.Switch(700, 1, 0), stacks);
  Switch(60, make_.Switch(700, 0, 0), stacks);
  EXPECT_EQ(log_.lines(),
            "50 cpu1 worker 699/700 state 1 > 0 kernel ffffffff81000001 user 400100 400200\n"
            "60 cpu1 worker 699/700 state 0 > 0\n");
}

TEST_F(TracefsDecodeTest, AStackOfAnotherThreadIsNotTheSwitchs) {
  ASSERT_TRUE(decoder_->BeginSwitch(make_.Switch(700, 1, 0), 50, 1));
  EXPECT_FALSE(decoder_->AddStack(make_.KernelStack(701, {0xffffffff81000001})));
}

TEST_F(TracefsDecodeTest, ChainsAreCutAtTheLimitTheUsersHalfFirst) {
  Options({.blocked = true}, 3);
  Switch(50, make_.Switch(700, 1, 0),
         {make_.UserStack(700, 699, {1, 2}), make_.KernelStack(700, {11, 12})});
  Switch(60, make_.Switch(700, 1, 0), {make_.KernelStack(700, {11, 12, 13, 14})});
  EXPECT_EQ(log_.lines(),
            "50 cpu1 worker 699/700 state 1 > 0 kernel b c user 1 truncated\n"
            "60 cpu1 worker -1/700 state 1 > 0 kernel b c d truncated\n");
}

TEST_F(TracefsDecodeTest, AFullUserStackWasCutByTheKernel) {
  Switch(50, make_.Switch(700, 1, 0), {make_.UserStack(700, 699, {1, 2, 3, 4, 5, 6, 7, 8})});
  EXPECT_EQ(log_.lines(), "50 cpu1 worker 699/700 state 1 > 0 user 1 2 3 4 5 6 7 8 truncated\n");
}

TEST_F(TracefsDecodeTest, WakeupsNameWhoWokeUp) {
  Decode(50, make_.Wakeup(3, 700));
  EXPECT_EQ(log_.lines(), "50 cpu1 wakes 700\n");
}

TEST_F(TracefsDecodeTest, ThreadsAndProcessesAreBornOfTheirParentsProcess) {
  threads_.Set(700, 699);
  Decode(50, make_.NewTask(700, 800, 0x10000));
  Decode(60, make_.NewTask(800, 801, 0));
  Decode(70, make_.NewTask(801, 802, 0x10000));
  EXPECT_EQ(log_.lines(),
            "50 699/700 forks 699/800\n60 699/800 forks 801/801\n70 801/801 forks 801/802\n");
}

TEST_F(TracefsDecodeTest, ANewThreadOfAnUnknownProcessIsLeftToProc) {
  Decode(50, make_.NewTask(700, 800, 0x10000));
  EXPECT_EQ(log_.lines(), "");
  Decode(60, make_.NewTask(700, 801, 0));
  EXPECT_EQ(log_.lines(), "60 -1/700 forks 801/801\n");
}

TEST_F(TracefsDecodeTest, AnExecHasTheNameTheKernelGaveItAndItsMappingsAreAskedFor) {
  threads_.Set(700, 700);
  Decode(50, make_.Rename(700, "long-program-na"));
  Decode(51, make_.Exec(700, 700, "/usr/bin/long-program-name"));
  Decode(60, make_.Exec(700, 700, "/usr/bin/long-program-name"));
  EXPECT_EQ(log_.lines(),
            "50 700/700 named long-program-na\n51 700/700 execs long-program-na\n"
            "60 700/700 execs long-program-na\n");
  EXPECT_EQ(mapped_, 700);
  EXPECT_EQ(decoder_->TakeExecs().size(), 2U);
  EXPECT_TRUE(decoder_->TakeExecs().empty());
}

TEST_F(TracefsDecodeTest, AfterAnExecByAnotherThreadOnlyTheLeadersIdIsLeft) {
  threads_.Set(700, 700);
  threads_.Set(703, 700);
  Decode(50, make_.Exec(703, 700, "/bin/x"));
  EXPECT_EQ(log_.lines(), "50 700/700 execs x\n");
  EXPECT_EQ(threads_.ProcessOf(703), -1);
}

TEST_F(TracefsDecodeTest, AThreadIsForgottenAtItsLastSwitchNotAtItsExit) {
  threads_.Set(701, 700);
  Decode(50, make_.Exit(701));
  Switch(60, make_.Switch(701, 0x10, 0));
  EXPECT_EQ(log_.lines(), "50 700/701 exits\n60 cpu1 worker 700/701 state 16 > 0\n");
  EXPECT_EQ(threads_.ProcessOf(701), -1);
}

TEST_F(TracefsDecodeTest, IdsThatCannotExistAreRefusedWithTheEventsName) {
  Switch(50, make_.Switch(4194305, 1, 0));
  Switch(51, make_.Switch(7, 1, -2));
  EXPECT_EQ(decoder_->misread_event(), "sched_switch");
  Decode(52, make_.Wakeup(0, 0x61616161));
  EXPECT_EQ(log_.lines(), "");
  EXPECT_EQ(decoder_->counters().malformed, 3U);
  EXPECT_EQ(decoder_->misread_event(), "sched_switch") << "the first one";
}

TEST_F(TracefsDecodeTest, ARecordCutShortAnywhereIsCountedAndDeliversNothing) {
  threads_.Set(700, 700);
  const Raw records[] = {make_.Wakeup(3, 700), make_.NewTask(700, 701, 0), make_.Rename(700, "x"),
                         make_.Exec(700, 700, "/bin/x"), make_.Exit(700)};
  for (const Raw& whole : records) {
    const uint64_t before = decoder_->counters().malformed;
    for (size_t size = 0; size <= 19; ++size) {
      decoder_->Decode(std::span(whole).first(size), 50, 1, log_);
    }
    EXPECT_EQ(decoder_->counters().malformed, before + 20);
  }
  const Raw whole = make_.Switch(7, 1, 0);
  for (size_t size = 0; size < 60; ++size) {
    EXPECT_FALSE(decoder_->BeginSwitch(std::span(whole).first(size), 50, 1));
  }
  EXPECT_EQ(log_.lines(), "");
}

}  // namespace
}  // namespace offcpu::source::tracefs
