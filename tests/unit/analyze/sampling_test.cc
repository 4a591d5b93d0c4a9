// SPDX-License-Identifier: MIT
#include "analyze/sampling.h"

#include <gtest/gtest.h>

namespace offcpu::analyze {
namespace {

profile::Profile TwoThreads() {
  profile::Profile profile;
  profile.origin.sample_hz = 100;
  profile::Thread thread;
  thread.sleeping_ns = 1000;
  thread.samples = 100;
  profile.threads.push_back(thread);
  profile.threads.push_back(thread);
  return profile;
}

TEST(SamplingErrorTest, IsThatOfAProportion) {
  EXPECT_EQ(SamplingError(TwoThreads(), {{1, 500}}), 50U);  // 1000 sqrt(0.5 * 0.5 / 100)
  EXPECT_EQ(SamplingError(TwoThreads(), {{1, 100}}), 30U);
}

TEST(SamplingErrorTest, OfAllAThreadsTimeIsNone) {
  EXPECT_EQ(SamplingError(TwoThreads(), {{1, 1000}, {2, 1000}}), 0U);
  EXPECT_EQ(SamplingError(TwoThreads(), {}), 0U);
}

TEST(SamplingErrorTest, OfThreadsAddsUpBySquares) {
  EXPECT_EQ(SamplingError(TwoThreads(), {{1, 500}, {2, 500}}), 71U);
}

TEST(SamplingErrorTest, WithoutSamplesIsHalfTheTime) {
  profile::Profile profile = TwoThreads();
  profile.threads[1].samples = 0;
  EXPECT_EQ(SamplingError(profile, {{1, 500}}), 250U);
}

}  // namespace
}  // namespace offcpu::analyze
