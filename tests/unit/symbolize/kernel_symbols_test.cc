// SPDX-License-Identifier: MIT
#include "symbolize/kernel_symbols.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/scratch_tree.h"

namespace offcpu::symbolize {
namespace {

using testing::ScratchTree;

KernelSymbols Parse(std::string_view text) {
  const ScratchTree tree;
  auto symbols = KernelSymbols::Read(tree.Write("kallsyms", text));
  EXPECT_TRUE(symbols.has_value());
  return *std::move(symbols);
}

std::string NameAt(const KernelSymbols& symbols, uint64_t address) {
  const auto function = symbols.Find(address);
  return std::string(function.name) + std::string(function.module);
}

constexpr std::string_view kSmall =
    "ffffffff81000000 T _stext\n"
    "ffffffff81000000 t first\n"
    "ffffffff81000100 t __pfx_second\n"
    "ffffffff81000110 T second\n"
    "ffffffff81000200 W weak_one\n"
    "ffffffff81000300 T _etext\n"
    "ffffffff81000400 D some_data\n"
    "ffffffffc0000000 t ext4_read\t[ext4]\n"
    "ffffffffc0000040 r ext4_table\t[ext4]\n"
    "ffffffffc0008000 t bpf_prog_6deef7357e7b4530_f\t[bpf]\n";

TEST(KernelSymbolsTest, AnAddressBelongsToTheFunctionItLiesIn) {
  const KernelSymbols symbols = Parse(kSmall);
  EXPECT_EQ(NameAt(symbols, 0xffffffff81000110), "second[kernel]");
  EXPECT_EQ(NameAt(symbols, 0xffffffff810001ff), "second[kernel]");
  EXPECT_EQ(NameAt(symbols, 0xffffffff81000200), "weak_one[kernel]");
  EXPECT_EQ(NameAt(symbols, 0xffffffffc0000001), "ext4_read[ext4]");
  EXPECT_EQ(NameAt(symbols, 0xffffffffc0008010), "bpf_prog_6deef7357e7b4530_f[bpf]");
}

TEST(KernelSymbolsTest, GlobalNamesWinAtOneAddress) {
  EXPECT_EQ(NameAt(Parse("1000 t a\n1000 W b\n1000 T __c\n1000 T d\n"), 0x1000), "d[kernel]");
}

TEST(KernelSymbolsTest, WhatIsNoFunctionHasNoName) {
  const KernelSymbols symbols = Parse(kSmall);
  EXPECT_EQ(NameAt(symbols, 0xffffffff80ffffff), "");  // below the first
  EXPECT_EQ(NameAt(symbols, 0xffffffff81000300), "");  // behind the text
  EXPECT_EQ(NameAt(symbols, 0xffffffff81000410), "");  // data
  EXPECT_EQ(NameAt(symbols, 0xffffffffc0000050), "");  // data of a module
  EXPECT_EQ(NameAt(symbols, 0xffffffffc0100000), "");  // far above the last
  EXPECT_EQ(NameAt(symbols, 0), "");
  EXPECT_EQ(NameAt(symbols, ~uint64_t{0}), "");
}

TEST(KernelSymbolsTest, AddressesThatAreAllZeroAreHiddenOnes) {
  EXPECT_TRUE(Parse("0000000000000000 T a\n0000000000000000 t b\t[m]\n").empty());
  EXPECT_TRUE(Parse("").empty());
}

TEST(KernelSymbolsTest, LinesThatMakeNoSenseAreSkipped) {
  const KernelSymbols symbols =
      Parse("\nxyz T bad\n10 T\n20\n11112222333344445 T long\n30 TT two\n40 T good\n50 t last");
  EXPECT_EQ(NameAt(symbols, 0x45), "good[kernel]");
  EXPECT_EQ(NameAt(symbols, 0x55), "last[kernel]");
  EXPECT_EQ(NameAt(symbols, 0x35), "");
}

TEST(KernelSymbolsTest, ALineWithoutEndIsNoProblem) {
  EXPECT_TRUE(Parse(std::string(300'000, 'f')).empty());
  EXPECT_EQ(NameAt(Parse("40 T good\n" + std::string(300'000, ' ') + "\n50 T next\n"), 0x50),
            "next[kernel]");
}

TEST(KernelSymbolsTest, AMissingFileIsAnErrorThatNamesIt) {
  const auto symbols = KernelSymbols::Read("/nonexistent/kallsyms");
  ASSERT_FALSE(symbols.has_value());
  EXPECT_NE(symbols.error().message.find("/nonexistent/kallsyms"), std::string::npos);
}

TEST(KernelSymbolsTest, DataBetweenFunctionsOfARealFileHasNoName) {
  const std::string path = testing::TestData("kallsyms/one-collect/symbols.map");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
  const auto symbols = KernelSymbols::Read(path);
  ASSERT_TRUE(symbols.has_value());
  EXPECT_EQ(NameAt(*symbols, 0x0a), "method1[kernel]");
  EXPECT_EQ(NameAt(*symbols, 0xa9), "method1[kernel]");
  EXPECT_EQ(NameAt(*symbols, 0xaa), "");
  EXPECT_EQ(NameAt(*symbols, 0xac), "method2[module]");
  EXPECT_EQ(NameAt(*symbols, 0xbb), "method3[kernel]");
  EXPECT_EQ(NameAt(*symbols, 0x05), "");
}

TEST(KernelSymbolsTest, TheRunningKernelFitsInEightMegabytes) {
  const auto symbols = KernelSymbols::Read("/proc/kallsyms");
  if (!symbols || symbols->empty()) GTEST_SKIP() << "kernel addresses are hidden from this user";
  EXPECT_LT(symbols->memory(), 8U << 20);
}

std::vector<model::SymbolFrame> LeafFirst(const std::vector<std::string>& names) {
  std::vector<model::SymbolFrame> frames;
  for (const std::string& name : names) {
    frames.push_back({model::FrameKind::kKernel, false, name, "[kernel]"});
  }
  return frames;
}

TEST(TracingFramesTest, AllAboveTheInnermostScheduleIsCut) {
  EXPECT_EQ(CountTracingFrames(LeafFirst({"bpf_prog_6deef7357e7b4530_f", "bpf_trace_run4",
                                          "__bpf_trace_sched_switch", "some_unknown_helper",
                                          "__schedule", "schedule", "do_nanosleep"})),
            4U);
  EXPECT_EQ(CountTracingFrames(LeafFirst({"__schedule", "schedule"})), 0U);
  EXPECT_EQ(CountTracingFrames(LeafFirst(
                {"perf_trace_sched_switch", "__schedule", "preempt_schedule_irq", "__schedule"})),
            1U);
}

TEST(TracingFramesTest, WithoutScheduleOnlyKnownTracingFunctionsAreCut) {
  EXPECT_EQ(CountTracingFrames(LeafFirst({"hrtimer_nanosleep", "do_syscall_64"})), 0U);
  EXPECT_EQ(CountTracingFrames(LeafFirst(
                {"perf_callchain", "__traceiter_sched_switch", "futex_wait", "perf_trace_x"})),
            2U);
  EXPECT_EQ(CountTracingFrames(LeafFirst({"__schedule_bug", "schedule"})), 0U);
  EXPECT_EQ(CountTracingFrames({}), 0U);
}

TEST(TracingFramesTest, AChainOfTracingFunctionsAloneIsKept) {
  EXPECT_EQ(CountTracingFrames(LeafFirst({"perf_callchain", "perf_tp_event"})), 0U);
}

}  // namespace
}  // namespace offcpu::symbolize
