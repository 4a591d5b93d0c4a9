// SPDX-License-Identifier: MIT
#include "process/thread_counters.h"

#include <sys/syscall.h>

#include <gtest/gtest.h>

#include "process/syscall_names.h"

namespace offcpu::process {
namespace {

TEST(SchedStatTest, HasThreeNumbers) {
  EXPECT_EQ(ParseSchedStat("38973 12 7\n"), (SchedStat{38973, 12, 7}));
  EXPECT_EQ(ParseSchedStat("18446744073709551615 0 0"), (SchedStat{~Nanos{0}, 0, 0}));
}

TEST(SchedStatTest, AnythingElseIsNothing) {
  for (const char* text : {"", "\n", "1 2", "1 2 3 4", "1 2 x", "-1 2 3", "1  2 3", "1 2 0x3",
                           "18446744073709551616 0 0", "1\0002 3"}) {
    EXPECT_FALSE(ParseSchedStat(text)) << text;
  }
}

TEST(SwitchCountsTest, AreFoundAmongTheLinesOfStatus) {
  const auto counts = ParseSwitchCounts(
      "Name:\tvoluntary_ctxt_switches:\nvoluntary_ctxt_switches:\t15\n"
      "nonvoluntary_ctxt_switches:\t4\n");
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->voluntary, 15U);
  EXPECT_EQ(counts->involuntary, 4U);
}

TEST(SwitchCountsTest, AStatusWithoutBothIsNothing) {
  EXPECT_FALSE(ParseSwitchCounts(""));
  EXPECT_FALSE(ParseSwitchCounts("voluntary_ctxt_switches:\t15\n"));
  EXPECT_FALSE(ParseSwitchCounts("voluntary_ctxt_switches:\t1\nnonvoluntary_ctxt_switches:\t-4\n"));
  EXPECT_FALSE(ParseSwitchCounts("voluntary_ctxt_switches:\nnonvoluntary_ctxt_switches:\n"));
}

TEST(WaitingCallTest, HasNumberStackPointerAndInstruction) {
  const auto call = ParseWaitingCall("230 0x0 0x0 0x7f 0x7f 0x0 0x1 0x7ffdd0 0x7fbd2e\n");
  ASSERT_TRUE(call);
  EXPECT_EQ(call->number, 230);
  EXPECT_EQ(call->stack_pointer, 0x7ffdd0U);
  EXPECT_EQ(call->instruction, 0x7fbd2eU);
}

TEST(WaitingCallTest, APageFaultHasNoNumber) {
  const auto call = ParseWaitingCall("-1 0x7ffdd0 0x7fbd2e\n");
  ASSERT_TRUE(call);
  EXPECT_EQ(call->number, -1);
}

TEST(WaitingCallTest, AnythingElseIsNothing) {
  for (const char* text :
       {"running\n", "", "-1", "7 0x1 0x2", "-2 0x1 0x2", "-1 1 2",
        "230 0x0 0x0 0x7f 0x7f 0x0 0x1 0x7ffdd0", "-1 0x0 0x0 0x7f 0x7f 0x0 0x1 0x7ffdd0 0x7fbd2e",
        "99999999999 0x0 0x0 0x7f 0x7f 0x0 0x1 0x7ffdd0 0x7fbd2e",
        "230 0x0 0x0 0x7f 0x7f 0x0 0x1 0x7ffdd0 0xzz"}) {
    EXPECT_FALSE(ParseWaitingCall(text)) << text;
  }
}

TEST(WaitChannelTest, IsTheFunctionOrNothing) {
  EXPECT_EQ(ParseWaitChannel("hrtimer_nanosleep"), "hrtimer_nanosleep");
  EXPECT_EQ(ParseWaitChannel("0"), "");
  EXPECT_EQ(ParseWaitChannel(""), "");
  EXPECT_EQ(ParseWaitChannel("two words"), "");
  EXPECT_EQ(ParseWaitChannel("\x01\x02"), "");
  EXPECT_EQ(ParseWaitChannel(std::string(600, 'x')), "");
}

TEST(SyscallNameTest, IsTheOneOfTheHeaders) {
  EXPECT_EQ(SyscallName(SYS_futex), "futex");
  EXPECT_EQ(SyscallName(SYS_read), "read");
  EXPECT_EQ(SyscallName(-1), "");
  EXPECT_EQ(SyscallName(1'000'000), "");
}

}  // namespace
}  // namespace offcpu::process
