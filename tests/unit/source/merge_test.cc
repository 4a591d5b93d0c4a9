// SPDX-License-Identifier: MIT
#include "source/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace offcpu::source {
namespace {

using testing::ElementsAre;

struct FakeStream {
  std::vector<Nanos> times;
  std::vector<Nanos>* out = nullptr;
  size_t next = 0;

  bool HasNext() { return next < times.size(); }
  Nanos next_time() const { return times[next]; }
  void Consume() { out->push_back(times[next++]); }
};

// D4: buffers are read one after the other, events come out in the order of time.
TEST(MergeTest, EventsOfAllStreamsComeInTheOrderOfTime) {
  std::vector<Nanos> out;
  FakeStream a{{663899, 663928, 9100353}, &out};
  FakeStream b{{663860, 9098252}, &out};
  Merge<FakeStream>({&a, &b}).Run(~Nanos{0});
  EXPECT_THAT(out, ElementsAre(663860, 663899, 663928, 9098252, 9100353));
}

TEST(MergeTest, WhatIsNewerThanTheHorizonStays) {
  std::vector<Nanos> out;
  FakeStream a{{1, 5, 9}, &out};
  FakeStream b{{2, 6}, &out};
  Merge<FakeStream> merge({&a, &b});
  merge.Run(5);
  EXPECT_THAT(out, ElementsAre(1, 2, 5));
  a.times.push_back(11);
  merge.Run(10);
  EXPECT_THAT(out, ElementsAre(1, 2, 5, 6, 9));
}

TEST(MergeTest, EqualTimesKeepTheOrderOfTheStreams) {
  std::vector<Nanos> out;
  std::vector<Nanos> other;
  FakeStream a{{3}, &other};
  FakeStream b{{3}, &out};
  Merge<FakeStream>({&a, &b}).Run(3);
  EXPECT_THAT(other, ElementsAre(3));
  EXPECT_THAT(out, ElementsAre(3));
}

TEST(MergeTest, ManyStreamsInManyRoundsLoseNothing) {
  std::mt19937 random(7);
  std::vector<Nanos> out;
  std::vector<FakeStream> streams(64);
  size_t total = 0;
  for (FakeStream& stream : streams) {
    stream.out = &out;
    Nanos time = 0;
    for (int i = 0; i < 100; ++i, ++total) stream.times.push_back(time += random() % 50);
  }
  std::vector<FakeStream*> pointers;
  for (FakeStream& stream : streams) pointers.push_back(&stream);
  Merge<FakeStream> merge(pointers);
  for (Nanos horizon = 0; out.size() < total; horizon += 37) merge.Run(horizon);
  EXPECT_EQ(out.size(), total);
  EXPECT_TRUE(std::is_sorted(out.begin(), out.end()));
}

}  // namespace
}  // namespace offcpu::source
