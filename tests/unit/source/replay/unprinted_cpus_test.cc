// SPDX-License-Identifier: MIT
#include "source/replay/unprinted_cpus.h"

#include <gtest/gtest.h>

namespace offcpu::source::replay {
namespace {

TEST(UnprintedCpusTest, WhoLeavesIsWhereItCame) {
  UnprintedCpus cpus(8);
  EXPECT_EQ(cpus.Take(1, 2), 0);
  EXPECT_EQ(cpus.Take(3, 4), 1);
  EXPECT_EQ(cpus.Take(2, 5), 0);
  EXPECT_EQ(cpus.Take(4, 0), 1);
  EXPECT_EQ(cpus.Of(5), 0);
  EXPECT_EQ(cpus.Take(0, 4), 1);
  EXPECT_EQ(cpus.Of(4), 1);
}

TEST(UnprintedCpusTest, AThreadThatCameElsewhereLeftItsCpuFree) {
  UnprintedCpus cpus(8);
  EXPECT_EQ(cpus.Take(1, 2), 0);
  EXPECT_EQ(cpus.Take(3, 2), 1) << "2 left CPU 0 unseen";
  EXPECT_EQ(cpus.Take(4, 5), 0);
  EXPECT_EQ(cpus.Take(2, 6), 1);
}

TEST(UnprintedCpusTest, ThereAreNeverMoreThanAsked) {
  UnprintedCpus cpus(3);
  for (model::Tid tid = 1; tid < 1000; ++tid) {
    const model::Cpu cpu = cpus.Take(2 * tid, tid % 5 == 0 ? 0 : 2 * tid + 1);
    EXPECT_GE(cpu, 0);
    EXPECT_LT(cpu, 3);
  }
}

}  // namespace
}  // namespace offcpu::source::replay
