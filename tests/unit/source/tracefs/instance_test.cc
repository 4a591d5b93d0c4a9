// SPDX-License-Identifier: MIT
#include "source/tracefs/instance.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "source/tracefs/threads.h"
#include "tests/support/scratch_tree.h"

namespace offcpu::source::tracefs {
namespace {

std::optional<std::string> OnlySevenLivesSinceFifty(model::Pid pid) {
  if (pid != 7) return std::nullopt;
  return "50";
}

TEST(IsLeftover, AnInstanceOfALivingProcessIsNone) {
  EXPECT_FALSE(IsLeftover("offcpu-7-50", OnlySevenLivesSinceFifty));
  EXPECT_FALSE(IsLeftover("offcpu-7-50-3", OnlySevenLivesSinceFifty));
}

TEST(IsLeftover, OneOfAnEndedProcessOrOfAnEarlierOneWithItsIdIs) {
  EXPECT_TRUE(IsLeftover("offcpu-8-50", OnlySevenLivesSinceFifty));
  EXPECT_TRUE(IsLeftover("offcpu-7-49", OnlySevenLivesSinceFifty));
  EXPECT_TRUE(IsLeftover("offcpu-7-49-1", OnlySevenLivesSinceFifty));
}

TEST(IsLeftover, OtherNamesAreLeftAlone) {
  for (const char* name : {"", "offcpu", "offcpu-", "offcpu-8", "offcpu-8-", "offcpu-x-50",
                           "offcpu--8-50", "offcpu-8-x", "trace-8-50", "my-offcpu-8-50"}) {
    EXPECT_FALSE(IsLeftover(name, OnlySevenLivesSinceFifty)) << name;
  }
}

TEST(StartTimeOf, CountsFieldsBehindANameOfAnyForm) {
  EXPECT_EQ(StartTimeOf("1 (a) b) c) S 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 77 23\n"),
            "77");
  EXPECT_EQ(StartTimeOf("1 (a) S 3 4"), "");
  EXPECT_EQ(StartTimeOf("1 (a)"), "");
  EXPECT_EQ(StartTimeOf(""), "");
}

TEST(ThreadTable, TakesInTheThreadsOfAllProcesses) {
  testing::ScratchTree tree;
  for (const char* file :
       {"7/task/7/stat", "7/task/9/stat", "12/task/12/stat", "self/task/3/stat"}) {
    tree.Write(file, "");
  }
  ThreadTable threads;
  threads.ReadProc(tree.path());
  EXPECT_EQ(threads.ProcessOf(7), 7);
  EXPECT_EQ(threads.ProcessOf(9), 7);
  EXPECT_EQ(threads.ProcessOf(12), 12);
  EXPECT_EQ(threads.ProcessOf(3), -1);
}

}  // namespace
}  // namespace offcpu::source::tracefs
