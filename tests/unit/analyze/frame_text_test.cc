// SPDX-License-Identifier: MIT
#include "analyze/frame_text.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/profile_fixture.h"

namespace offcpu::analyze {
namespace {

using testing::KernelFrame;
using testing::MarkerFrame;
using testing::UserFrame;

std::string TextOf(const model::SymbolFrame& frame) {
  testing::ProfileFixture fixture;
  const profile::NodeId node = fixture.AddStack({frame});
  return FrameText(fixture.profile(), fixture.profile().nodes[node].frame);
}

TEST(FrameText, MarksKernelFunctionsOnly) {
  EXPECT_EQ(TextOf(KernelFrame("schedule")), "schedule_[k]");
  EXPECT_EQ(TextOf(UserFrame("main")), "main");
  EXPECT_EQ(TextOf(MarkerFrame("[truncated stack]")), "[truncated stack]");
}

TEST(FrameText, NeverHoldsTheSeparatorOrALineBreak) {
  EXPECT_EQ(TextOf(UserFrame("Lcom/x/Y;::run")), "Lcom/x/Y:::run");
  EXPECT_EQ(TextOf(UserFrame("a\r\nb")), "a  b");
  EXPECT_EQ(EscapeFrame(";\n\x1b"), ": \x1b");
}

TEST(FrameText, LeavesOutAnOffset) {
  EXPECT_EQ(TextOf(KernelFrame("futex_wait+0x1a")), "futex_wait_[k]");
  EXPECT_EQ(TextOf(UserFrame("a+0x")), "a+0x");
  EXPECT_EQ(TextOf(UserFrame("a+0x1g")), "a+0x1g");
}

TEST(FrameText, NamesTheModuleOfANamelessFrame) {
  EXPECT_EQ(TextOf(UserFrame("", "libx.so")), "[libx.so]");
  EXPECT_EQ(TextOf(UserFrame("[unknown]", "libx.so")), "[libx.so]");
  EXPECT_EQ(TextOf(UserFrame("", "")), "[unknown]");
  EXPECT_EQ(TextOf(UserFrame("+0x12", "[vdso]")), "[vdso]");
  EXPECT_EQ(TextOf(UserFrame("0x2a0", "libc.so.6")), "libc.so.6+0x2a0");
  EXPECT_EQ(TextOf(KernelFrame("", "[kernel]")), "[kernel]_[k]");
}

TEST(FrameText, HasOneForEveryFrameOfAProfile) {
  testing::ProfileFixture fixture;
  fixture.AddStack({UserFrame("main"), KernelFrame("schedule")});
  EXPECT_EQ(FrameTexts(fixture.profile()), (std::vector<std::string>{"", "main", "schedule_[k]"}));
}

TEST(OwnerFrames, StandForMissingNames) {
  EXPECT_EQ(ThreadFrame(""), "[unknown thread]");
  EXPECT_EQ(ThreadFrame("   "), "   ");
  EXPECT_EQ(ProcessFrame(""), "[unknown process]");
  EXPECT_EQ(ProcessFrame("a;b"), "a:b");
}

TEST(PoolName, ReplacesEveryRunOfDigits) {
  EXPECT_EQ(PoolName("pool-1-thread-23"), "pool-#-thread-#");
  EXPECT_EQ(PoolName("kworker/0:1"), "kworker/#:#");
  EXPECT_EQ(PoolName("main"), "main");
  EXPECT_EQ(PoolName("007"), "#");
}

}  // namespace
}  // namespace offcpu::analyze
