// SPDX-License-Identifier: MIT
#include "source/tracefs/page.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/support/trace_pages.h"

namespace offcpu::source::tracefs {
namespace {

using test::kPageLayout;
using test::PageMaker;
using test::Raw;

struct Read {
  std::vector<Nanos> times;
  std::vector<Raw> raws;
  bool damaged = false;
};

Read ReadAll(const Page& page) {
  Read read;
  PageCursor cursor(kPageLayout);
  cursor.Load(page);
  TraceRecord record;
  while (cursor.Next(&record)) {
    read.times.push_back(record.time);
    read.raws.emplace_back(record.raw.begin(), record.raw.end());
  }
  read.damaged = cursor.damaged();
  return read;
}

Raw Payload(size_t words, uint8_t byte) { return Raw(words * 4, std::byte{byte}); }

TEST(PageCursor, GivesTimesAndBytesOfShortAndLongRecords) {
  PageMaker maker(1'000'000'000'000);
  maker.Add(1'000'000'000'000, Payload(3, 1));
  maker.Add(1'000'000'000'500, Payload(28, 2));
  maker.Add(1'000'000'000'600, Payload(29, 3));  // its length does not fit into the head
  maker.Add(1'000'900'000'000, Payload(1, 4));   // its delta does not
  maker.AbsoluteTime(1'000'900'000'007).Discarded(20);
  maker.Add(1'000'900'000'009, Payload(2, 5));
  const Read read = ReadAll(maker.page());
  EXPECT_FALSE(read.damaged);
  EXPECT_EQ(read.times, (std::vector<Nanos>{1'000'000'000'000, 1'000'000'000'500, 1'000'000'000'600,
                                            1'000'900'000'000, 1'000'900'000'009}));
  EXPECT_EQ(read.raws, (std::vector<Raw>{Payload(3, 1), Payload(28, 2), Payload(29, 3),
                                         Payload(1, 4), Payload(2, 5)}));
}

TEST(PageCursor, AnEmptyPageHasNoRecords) {
  const Read read = ReadAll(PageMaker(5).page());
  EXPECT_TRUE(read.times.empty());
  EXPECT_FALSE(read.damaged);
}

TEST(PageCursor, PaddingWithoutTimeIsTheEndOfThePage) {
  PageMaker maker(5);
  maker.Add(6, Payload(1, 1)).Words({29, 0, 0, 0});
  const Read read = ReadAll(maker.page());
  EXPECT_EQ(read.times, (std::vector<Nanos>{6}));
  EXPECT_FALSE(read.damaged);
}

TEST(PageCursor, StopsAtARecordThatLeadsOutOfThePageOrBack) {
  const uint32_t padding = 1U << 5 | 29;
  const std::initializer_list<uint32_t> kBad[] = {
      {0, 4 + 8},                   // longer than what was written
      {0, 0},                       // shorter than its own length word
      {0, 0xffffffff},              //
      {0, 0x7fffffff},              //
      {28},                         // a head without its bytes
      {padding, 0xfffffffc, 0, 0},  // leads to itself
      {padding, 0xffffffe0, 0, 0},  // leads back
      {padding, 0x7ffffff0, 0, 0},  //
      {padding, 3, 0},              // not to a whole word
      {1U << 5 | 30},               // a time extension cut off
  };
  for (const auto& words : kBad) {
    PageMaker maker(5);
    maker.Add(6, Payload(1, 1)).Words(words);
    const Read read = ReadAll(maker.page());
    EXPECT_EQ(read.times, (std::vector<Nanos>{6})) << *words.begin();
    EXPECT_TRUE(read.damaged) << *words.begin();
  }
}

TEST(PageCursor, AHeadThatPromisesMoreThanAPageIsDamaged) {
  PageMaker maker(5);
  maker.Add(6, Payload(1, 1)).Commit(4084);
  EXPECT_FALSE(ReadPageHead(maker.page(), kPageLayout).valid);
  EXPECT_TRUE(ReadAll(maker.page()).damaged);
}

TEST(PageCursor, SurvivesAnyBytes) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    PageMaker maker(random());
    for (int i = 0; i < 40; ++i)
      maker.Words({static_cast<uint32_t>(random() % 4 == 0 ? random() : random() % 64)});
    const Read read = ReadAll(maker.page());
    EXPECT_LE(read.times.size(), 40U);
  }
}

TEST(PageHead, TellsWhetherEventsWereMissedAndHowMany) {
  PageMaker maker(77);
  maker.Add(80, Payload(2, 1));
  PageHead head = ReadPageHead(maker.page(), kPageLayout);
  EXPECT_TRUE(head.valid);
  EXPECT_FALSE(head.missed);
  EXPECT_EQ(head.time, 77U);
  EXPECT_EQ(head.commit, 12U);
  head = ReadPageHead(maker.Missed().page(), kPageLayout);
  EXPECT_TRUE(head.missed);
  EXPECT_EQ(head.missed_count, 0U);
  head = ReadPageHead(maker.Missed(1234).page(), kPageLayout);
  EXPECT_TRUE(head.missed);
  EXPECT_EQ(head.missed_count, 1234U);
  EXPECT_EQ(ReadAll(maker.page()).times, (std::vector<Nanos>{80}));
}

}  // namespace
}  // namespace offcpu::source::tracefs
