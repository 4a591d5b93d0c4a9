// SPDX-License-Identifier: MIT
#include "kernel-compat/print_text.h"

#include <gtest/gtest.h>

#include <string>

namespace offcpu::kernel_compat {
namespace {

// A print text that tests `mark` and has the letters S and D.
std::string Text(const std::string& mark, const std::string& mask = "255") {
  return "\"%d %s%s\", REC->prev_pid, (REC->prev_state & " + mask +
         ") ? __print_flags(REC->prev_state & " + mask +
         ", \"|\", { 0x1, \"S\" }, { 0x2, \"D\" }) : \"R\", REC->prev_state & " + mark +
         " ? \"+\" : \"\"";
}

TEST(PrintText, ConstantsAreWorkedOutByPrecedence) {
  struct {
    const char* expression;
    uint64_t value;
  } const marks[] = {
      {"1024", 1024},
      {"0x100", 0x100},
      {"0x100UL", 0x100},
      {"(((0x0 | 0x1 | 0x2 | 0x4 | 0x8 | 0x10 | 0x20 | 0x40) + 1) << 1)", 0x100},
      {"(1 << 4 + 4)", 0x100},
      {"(1024 - 512 - 256)", 0x100},
      {"(2 * 3 + 2 << 5)", 0x100},
      {"(0x300 & 0x1ff ^ 0x0)", 0x100},
      {"(0x1000 >> 4)", 0x100},
  };
  for (const auto& each : marks) {
    const auto states = ReadStateText(Text(each.expression));
    ASSERT_TRUE(states) << each.expression;
    EXPECT_EQ(states->preempt_mark, each.value) << each.expression;
  }
}

TEST(PrintText, LettersComeInTheOrderOfTheirBits) {
  const auto states = ReadStateText(
      "\"%s\", REC->prev_state ? __print_flags(REC->prev_state, \"|\", { 8, \"t\" }, { 1, \"S\"} , "
      "{ 0x2, \"D\" }) : \"R\"");
  ASSERT_TRUE(states);
  EXPECT_EQ(states->letters, (std::vector<StateText::Letter>{{1, 'S'}, {2, 'D'}, {8, 't'}}));
  EXPECT_EQ(states->preempt_mark, 0U);
}

TEST(PrintText, ATextThatLacksAnArgumentIsNotOneWithoutAMark) {
  std::string text = Text("0x100");
  text.resize(text.rfind(", REC->prev_state"));
  EXPECT_FALSE(ReadStateText(text));
}

TEST(PrintText, WhatMakesNoSenseIsRefused) {
  for (const char* mark :
       {"0", "3", "0x180", "2", "1", "(1 << 64)", "(1 << 99)", "REC->prev_pid", "__get_str(x)",
        "(256", "256)", "", "99999999999999999999", "0x", "12ab", "(256,)", "\"+\""}) {
    EXPECT_FALSE(ReadStateText(Text(mark))) << mark;
  }
  for (const char* text :
       {"", "\"", "\"%s\"", "\"%s\", 1", "no text", "\"%s\", \"+\" extra",
        "\"%s\", __print_flags(REC->prev_state, \"|\")",
        "\"%s\", __print_flags(REC->prev_pid, \"|\", { 1, \"S\" })",
        "\"%s\", __print_flags(REC->prev_state, \"|\", { 3, \"S\" })",
        "\"%s\", __print_flags(REC->prev_state, \"|\", { 1, \"S\" }, { 1, \"D\" })",
        "\"%s\", __print_flags(REC->prev_state, \"|\", { 1, \"SD\" })",
        "\"%s\", __print_flags(REC->prev_state, \"|\", { 1, \"\" })", "\"%s\\"}) {
    EXPECT_FALSE(ReadStateText(text)) << text;
  }
}

TEST(PrintText, NestingIsFollowedOnlySoFar) {
  const auto nested = [](size_t depth) {
    return Text(std::string(depth, '(') + "256" + std::string(depth, ')'));
  };
  EXPECT_TRUE(ReadStateText(nested(20)));
  EXPECT_FALSE(ReadStateText(nested(1000)));
  EXPECT_FALSE(ReadStateText(nested(1000000)));
}

}  // namespace
}  // namespace offcpu::kernel_compat
