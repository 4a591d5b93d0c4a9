// SPDX-License-Identifier: MIT
#include "source/replay/round_sorter.h"

#include <string>

#include <gmock/gmock.h>

namespace offcpu::source::replay {
namespace {

class RoundSorterTest : public ::testing::Test {
 protected:
  // A record whose bytes tell its time.
  void Add(Nanos time, size_t size = 400) {
    std::string bytes = std::to_string(time);
    bytes.resize(size, '.');
    sorter_.Add(time, 1, std::as_bytes(std::span<const char>(bytes)));
  }
  std::vector<Nanos> Release(Nanos horizon) {
    std::vector<Nanos> times;
    sorter_.Release(horizon, [&](Nanos time, uint16_t, std::span<const std::byte> bytes) {
      const std::string expected = std::to_string(time) + ".";
      EXPECT_EQ(std::memcmp(bytes.data(), expected.data(), expected.size()), 0) << time;
      times.push_back(time);
    });
    return times;
  }
  RoundSorter sorter_;
};

TEST_F(RoundSorterTest, WhatIsKeptHasItsBytesAfterManyReleases) {
  // Two CPUs, one ring after the other; each release leaves about half.
  constexpr Nanos kRound = 4000;
  Nanos next = 1;
  for (Nanos round = 0; round < 20; ++round) {
    for (const Nanos cpu : {0, 1}) {
      for (Nanos i = 0; i < kRound; i += 2) Add(round * kRound + i + cpu + 1);
    }
    for (const Nanos time : Release(round * kRound + kRound / 2)) EXPECT_EQ(time, next++);
  }
  for (const Nanos time : Release(~Nanos{0})) EXPECT_EQ(time, next++);
  EXPECT_EQ(next, 20 * kRound + 1);
  EXPECT_TRUE(sorter_.empty());
}

TEST_F(RoundSorterTest, OneOldRecordDoesNotKeepTheRoomOfAllThatCameAfterIt) {
  Add(1'000'000'000);
  for (Nanos time = 1; time <= 50'000; ++time) {
    Add(time);
    if (time % 5'000 == 0) Release(time);
  }
  EXPECT_LE(sorter_.held(), size_t{4} << 20);
  EXPECT_THAT(Release(~Nanos{0}), ::testing::ElementsAre(1'000'000'000));
}

}  // namespace
}  // namespace offcpu::source::replay
