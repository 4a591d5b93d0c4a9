// SPDX-License-Identifier: MIT
// Chunks built by hand (tests/support/jfr_builder.h), whole, cut and damaged.
#include "jfr/chunk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "jfr/listing.h"
#include "jfr/recording.h"
#include "tests/support/jfr_builder.h"
#include "tests/support/scratch_tree.h"

namespace offcpu::jfr {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Element = test::JfrElement;

std::span<const std::byte> AsBytes(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// All that a recording holds, as text.
struct Contents {
  std::string refusal;
  size_t chunks = 0;
  std::map<std::string, uint64_t> counts;
  std::vector<std::string> rows;
  uint64_t unknown = 0;
  uint64_t unreadable = 0;
  uint64_t behind_flush = 0;
  Damage damage;
};

void ReadChunk(const Chunk& chunk, Contents* contents) {
  ++contents->chunks;
  CountEvents(chunk, &contents->counts);
  contents->unknown += chunk.unknown_events();
  contents->behind_flush += chunk.events_behind_flush();
  Selection all;
  all.AddAllOf(chunk);
  Names names(&chunk);
  EventCursor cursor(&chunk, &all, &names);
  while (const Event* event = cursor.Next()) {
    contents->rows.push_back(EventRow(chunk, all, cursor, *event, &names));
  }
  contents->unreadable += cursor.unreadable_events();
}

Contents ReadAll(Result<Recording> recording) {
  Contents contents;
  if (!recording) {
    contents.refusal = recording.error().message;
    return contents;
  }
  while (const auto chunk = recording->NextChunk()) ReadChunk(*chunk, &contents);
  contents.damage = recording->damage();
  return contents;
}

Contents Read(const std::string& bytes) {
  return ReadAll(Recording::FromMemory(AsBytes(bytes), "x.jfr"));
}

const char* const kFirstPark =
    "test.Park\t1000000001000\t250\t1234\t5\tos-name\t2\ttrue\tjava/lang/Object.r\u00fcn:12@3/"
    "Interpreted\tparkedClass=java/lang/Object;timeout=20000000";
const char* const kSecondPark =
    "test.Park\t999999999000\t1\t-1\t6\t\t0\t-\t-\tparkedClass=-;timeout=none";
const char* const kAll =
    "test.All\t1000000002000\t-\t-\t-\t-\t0\t-\t-\tflag=true;small=-1;letter=9786;middle=-2;"
    "number=-3;key=18364758544493064720;real=1.5;exact=-2.5;text=plain;points=[2];symbol=inline;"
    "words=[3]";

TEST(ChunkTest, EveryKindOfFieldIsReadInBothFormsOfIntegers) {
  for (const bool compressed : {true, false}) {
    const Contents contents = Read(test::SampleJfrChunk(compressed).Bytes());
    EXPECT_THAT(contents.rows, ElementsAre(kFirstPark, kSecondPark, kAll)) << compressed;
    EXPECT_FALSE(contents.damage.any()) << compressed;
    EXPECT_EQ(contents.unknown, 1U);
    EXPECT_EQ(contents.unreadable, 0U);
    EXPECT_EQ(contents.counts.at("test.Park"), 2U);
    EXPECT_EQ(contents.counts.at("jdk.CheckPoint"), 2U);
    EXPECT_EQ(contents.counts.at("jdk.Metadata"), 1U);
  }
}

TEST(ChunkTest, PathsLeadThroughStructsAndKeys) {
  const std::string bytes = test::SampleJfrChunk(true).Bytes();
  auto recording = Recording::FromMemory(AsBytes(bytes), "x.jfr");
  ASSERT_TRUE(recording);
  const auto chunk = recording->NextChunk();
  Selection selection;
  const size_t all = selection.Add("test.All", {"point.x", "point.y", "point", "nothing.at.all"});
  const size_t park = selection.Add(
      "test.Park", {"parkedClass.outer.name", "parkedClass.outer.outer.outer.name.string",
                    "eventThread.osThreadId", "timeout.what", "parkedClass.none"});
  Names names(chunk.get());
  EventCursor cursor(chunk.get(), &selection, &names);
  const Event* event = cursor.Next();
  ASSERT_EQ(event->selected, park);
  EXPECT_EQ(names.TextOf(cursor.Field(0)), "r\u00fcn");
  EXPECT_EQ(names.TextOf(cursor.Field(1)), "r\u00fcn");
  EXPECT_EQ(cursor.Field(2).Integer(), 1234);
  EXPECT_EQ(cursor.Field(3).kind, ValueKind::kAbsent);
  EXPECT_EQ(cursor.FieldOf(3), nullptr);
  EXPECT_EQ(cursor.Field(4).kind, ValueKind::kAbsent);
  (void)cursor.Next();
  event = cursor.Next();
  ASSERT_EQ(event->selected, all);
  EXPECT_EQ(cursor.Field(0).Integer(), 10);
  EXPECT_EQ(cursor.Field(1).Integer(), -20);
  EXPECT_EQ(cursor.Field(2).kind, ValueKind::kAbsent);
  EXPECT_EQ(cursor.Field(3).kind, ValueKind::kAbsent);
  EXPECT_EQ(cursor.Next(), nullptr);
}

TEST(ChunkTest, ThreadsAndStacksAreWholeAndMissingKeysAreCounted) {
  const std::string bytes = test::SampleJfrChunk(true).Bytes();
  auto recording = Recording::FromMemory(AsBytes(bytes), "x.jfr");
  ASSERT_TRUE(recording);
  const auto chunk = recording->NextChunk();
  Selection selection;
  selection.Add("test.Park", {"parkedClass"});
  Names names(chunk.get());
  EventCursor cursor(chunk.get(), &selection, &names);
  const Event* event = cursor.Next();
  const Thread* thread = names.ThreadAt(event->thread);
  ASSERT_NE(thread, nullptr);
  EXPECT_EQ(thread->name(), "Jav\u00e4 \U0001f600");
  EXPECT_FALSE(thread->is_virtual);
  const StackTrace* stack = names.StackAt(event->stack);
  ASSERT_NE(stack, nullptr);
  ASSERT_EQ(stack->frames.size(), 2U);
  EXPECT_EQ(stack->frames[0].method->descriptor, "()V");
  EXPECT_EQ(*stack->frames[0].kind, "Interpreted");  // key 0 is a real one in that pool
  EXPECT_EQ(stack->frames[1].method->name, "");
  EXPECT_EQ(stack->frames[1].line, -1);
  EXPECT_EQ(names.missing_keys(), 1U);  // the second method's name
  EXPECT_EQ(names.StackAt(event->stack), stack);
  EXPECT_EQ(CollapsedStack(*stack), ".:-1;java/lang/Object.r\u00fcn:12");
  event = cursor.Next();
  EXPECT_TRUE(names.ThreadAt(event->thread)->is_virtual);
  EXPECT_EQ(names.StackAt(event->stack), nullptr);  // key 0: null, not missing
  EXPECT_EQ(names.missing_keys(), 1U);
  EXPECT_EQ(names.TextOf(cursor.Field(0)), std::nullopt);
  EXPECT_EQ(names.missing_keys(), 2U);
}

TEST(ChunkTest, SeveralChunksHaveTheirOwnClocks) {
  test::JfrChunk second = test::SampleJfrChunk(false);
  second.start_ticks = 0;
  second.ticks_per_second = 1'000;
  const Contents contents = Read(test::SampleJfrChunk(true).Bytes() + second.Bytes());
  EXPECT_EQ(contents.chunks, 2U);
  ASSERT_EQ(contents.rows.size(), 6U);
  EXPECT_EQ(contents.rows[0], kFirstPark);
  EXPECT_THAT(contents.rows[3], HasSubstr("\t1006000000000\t250000000\t"));
  EXPECT_FALSE(contents.damage.any());
}

// Whatever is left of a file gives no more than was there, in order, and says that it is cut.
TEST(ChunkTest, ARecordingCutAnywhereIsUsedAsFarAsItGoes) {
  for (const bool compressed : {true, false}) {
    const std::string first = test::SampleJfrChunk(compressed).Bytes();
    const std::string whole = first + first;
    for (size_t length = 0; length < whole.size(); ++length) {
      const Contents contents = Read(std::string(whole, 0, length));
      ASSERT_EQ(!contents.refusal.empty(), length < 68) << length;
      ASSERT_EQ(contents.damage.any(), length >= 68 && length != first.size()) << length;
      ASSERT_LE(contents.rows.size(), 6U);
      if (length >= first.size()) {
        ASSERT_GE(contents.rows.size(), 3U) << length;
        ASSERT_EQ(contents.rows[0], kFirstPark) << length;
      }
    }
  }
}

TEST(ChunkTest, AnyChangedByteIsSurvived) {
  const std::string whole = test::SampleJfrChunk(true).Bytes();
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const char value : {'\x00', '\x01', '\x7f', '\x80', '\xff'}) {
      std::string bytes = whole;
      bytes[at] = value;
      const Contents contents = Read(bytes);
      ASSERT_LE(contents.rows.size(), 100U) << at;
    }
  }
}

TEST(ChunkTest, WhatIsNoRecordingIsRefusedByName) {
  EXPECT_EQ(Read("").refusal, "read x.jfr: not a JFR recording");
  EXPECT_EQ(Read("PERFILE2").refusal, "read x.jfr: not a JFR recording");
  EXPECT_EQ(Read("\x1f\x8b\x08 and so on").refusal, "read x.jfr: compressed with gzip");
  EXPECT_EQ(Read("\x28\xb5\x2f\xfd....").refusal, "read x.jfr: compressed with zstd");
  EXPECT_EQ(Read("\x04\x22\x4d\x18....").refusal, "read x.jfr: compressed with lz4");
  EXPECT_EQ(Read("PK\x03\x04....").refusal, "read x.jfr: compressed with zip");
  EXPECT_EQ(Read(std::string("FLR\0...", 7)).refusal, "read x.jfr: ends within the first header");
  test::JfrChunk chunk = test::SampleJfrChunk(true);
  chunk.major = 3;
  EXPECT_EQ(Read(chunk.Bytes()).refusal, "read x.jfr: version 3.1 of JFR is not read");
  chunk.major = 2;
  chunk.ticks_per_second = 0;
  EXPECT_EQ(Read(chunk.Bytes()).refusal, "read x.jfr: its clock has no frequency");
}

TEST(ChunkTest, FilesAreReadLikeMemoryAndOthersAreRefused) {
  const testing::ScratchTree tree;
  std::string bytes;
  for (int i = 0; i < 800; ++i) bytes += test::SampleJfrChunk(i % 2 == 0).Bytes();
  ASSERT_GT(bytes.size(), 3U * (256U << 10));  // several windows
  const Contents contents = ReadAll(Recording::Open(tree.Write("x.jfr", bytes)));
  EXPECT_EQ(contents.chunks, 800U);
  EXPECT_EQ(contents.rows, Read(bytes).rows);
  EXPECT_FALSE(contents.damage.any());
  EXPECT_THAT(ReadAll(Recording::Open(tree.path())).refusal, HasSubstr("not a regular file"));
  EXPECT_THAT(ReadAll(Recording::Open("/dev/zero")).refusal, HasSubstr("not a regular file"));
  EXPECT_THAT(ReadAll(Recording::Open(tree / "none")).refusal, HasSubstr("No such file"));
}

TEST(ChunkTest, AnUnfinishedChunkIsReadBehindItsLastFlush) {
  test::JfrChunk chunk = test::SampleJfrChunk(true);
  chunk.size = chunk.Bytes().size();
  chunk.state = 3;
  const auto values = [&chunk] { return chunk.Values(); };
  chunk.Event(100, values().Long(9'000).Long(1).Key(7).Key(60).Key(30).Long(20));
  const Contents contents = Read(chunk.Bytes() + std::string("\x30\x80", 2));
  EXPECT_EQ(contents.rows.size(), 4U);
  EXPECT_EQ(contents.behind_flush, 1U);
  EXPECT_THAT(contents.damage.Lines(),
              ElementsAre("1 chunk was never finished",
                          "1 chunk has an event of an impossible size", "2 bytes lost"));
}

TEST(ChunkTest, AChunkWithoutMetadataSaysSo) {
  test::JfrChunk chunk;
  chunk.Event(77, chunk.Values().Long(1));
  const Contents contents = Read(chunk.Bytes());
  EXPECT_THAT(contents.rows, IsEmpty());
  EXPECT_EQ(contents.unknown, 1U);
  EXPECT_EQ(contents.damage.chunks_without_metadata, 1U);
}

TEST(ChunkTest, MetadataIsFoundWhereTheHeaderDoesNotNameIt) {
  std::string bytes = test::SampleJfrChunk(true).Bytes();
  for (size_t i = 24; i < 32; ++i) bytes[i] = '\0';
  EXPECT_EQ(Read(bytes).rows.size(), 3U);
  bytes[31] = '\x45';  // within an event
  EXPECT_EQ(Read(bytes).rows.size(), 3U);
}

// An event of size 0 can't be skipped; the pools behind it are found from the header's end.
TEST(ChunkTest, PoolsBehindABreakAreFoundByTheirChain) {
  test::JfrChunk chunk = test::SampleJfrChunk(true);
  const uint64_t broken = chunk.Bytes().size();
  chunk.Raw(std::string(1, '\0'));
  const uint64_t behind = chunk.Checkpoint({{20, {{500, chunk.Values().Utf8("behind")}}}});
  ASSERT_GT(behind, broken);
  const std::string bytes = chunk.Bytes();
  auto recording = Recording::FromMemory(AsBytes(bytes), "x.jfr");
  ASSERT_TRUE(recording);
  const auto read = recording->NextChunk();
  EXPECT_TRUE(read->damage().broken);
  EXPECT_EQ(read->damage().lost_bytes, bytes.size() - broken);
  const TypeIndex text = read->metadata().Find("java.lang.String");
  EXPECT_TRUE(read->pools().Find(text, 500));
  EXPECT_TRUE(read->pools().Find(text, 77));
  EXPECT_FALSE(read->pools().Find(text, 78));
  EXPECT_FALSE(read->pools().Find(kNoType, 77));
}

TEST(ChunkTest, APoolOfAnUnknownTypeEndsItsCheckpointOnly) {
  test::JfrChunk chunk = test::SampleJfrChunk(true);
  chunk.Checkpoint({{20, {{600, chunk.Values().Utf8("before")}}},
                    {4242, {{1, chunk.Values().Int(1)}}},
                    {20, {{601, chunk.Values().Utf8("after")}}}});
  const std::string bytes = chunk.Bytes();
  auto recording = Recording::FromMemory(AsBytes(bytes), "x.jfr");
  const auto read = recording->NextChunk();
  const TypeIndex text = read->metadata().Find("java.lang.String");
  EXPECT_TRUE(read->pools().Find(text, 600));
  EXPECT_FALSE(read->pools().Find(text, 601));
  EXPECT_EQ(recording->damage().checkpoints, 1U);
  EXPECT_THAT(recording->damage().Lines(), ElementsAre("1 checkpoint can't be read"));
}

TEST(ChunkTest, AnEventThatDoesNotFitItsTypeIsCountedNotShown) {
  test::JfrChunk chunk = test::SampleJfrChunk(true);
  chunk.Event(100, chunk.Values().Long(1).Long(2));  // too short
  chunk.Event(100,
              chunk.Values().Long(1).Long(2).Key(7).Key(0).Key(0).Long(3).Byte(9));  // too long
  const Contents contents = Read(chunk.Bytes());
  EXPECT_EQ(contents.rows.size(), 3U);
  EXPECT_EQ(contents.unreadable, 2U);
  EXPECT_EQ(contents.counts.at("test.Park"), 4U);
}

// Structs that hold themselves, types that nobody describes, elements nested without end.
TEST(ChunkTest, TypesThatCanNotBeLaidOutAreSkipped) {
  test::JfrChunk chunk;
  chunk.Metadata({Element::Class(7, "int"),
                  Element::Class(8, "test.Self", {Element::Field("self", 8)}),
                  Element::Event(50, "test.Endless", {Element::Field("self", 8)}),
                  Element::Event(51, "test.Dangling", {Element::Field("what", 999)}),
                  Element::Event(52, "test.Fine", {Element::Field("n", 7)})});
  for (const uint64_t type : {50, 51, 52}) chunk.Event(type, chunk.Values().Int(5));
  chunk.Checkpoint({{8, {{1, chunk.Values().Int(1)}}}});
  const Contents contents = Read(chunk.Bytes());
  EXPECT_THAT(contents.rows, ElementsAre("test.Fine\t-\t-\t-\t-\t-\t0\t-\t-\tn=5"));
  EXPECT_EQ(contents.unreadable, 2U);
  EXPECT_EQ(contents.damage.checkpoints, 1U);
}

TEST(ChunkTest, DeeplyNestedMetadataIsRefused) {
  Element deep{"metadata", {}, {}};
  for (int i = 0; i < 1'000; ++i) deep = Element{"metadata", {}, {deep}};
  test::JfrChunk chunk;
  chunk.MetadataOf(deep);
  EXPECT_EQ(Read(chunk.Bytes()).damage.chunks_without_metadata, 1U);
}

// Tables by type would be many times larger than what each type takes in the file.
TEST(ChunkTest, MetadataOfTooManyTypesIsRefused) {
  for (const size_t types : {size_t{1} << 16, (size_t{1} << 16) + 1}) {
    test::JfrChunk chunk;
    chunk.Metadata(std::vector<Element>(types, Element{"class", {{"id", "7"}}, {}}));
    EXPECT_EQ(Read(chunk.Bytes()).damage.chunks_without_metadata, types > (1U << 16) ? 1U : 0U);
  }
}

// Each struct holds two of the next: 2^20 fields from twenty types.
TEST(ChunkTest, StructsThatMultiplyAreRefused) {
  std::vector<Element> types{Element::Class(7, "int")};
  for (uint64_t id = 10; id < 24; ++id) {
    const uint64_t next = id == 23 ? 7 : id + 1;
    types.push_back(Element::Class(id, "test.Two" + std::to_string(id),
                                   {Element::Field("a", next), Element::Field("b", next)}));
  }
  types.push_back(Element::Event(50, "test.Many", {Element::Field("two", 10)}));
  test::JfrChunk chunk;
  chunk.Metadata(types);
  chunk.Event(50, chunk.Values().Int(5));
  EXPECT_EQ(Read(chunk.Bytes()).unreadable, 1U);
}

// An array of a struct without fields takes no bytes for its elements, however many it has.
TEST(ChunkTest, HugeArraysOfNothingAreNoLoop) {
  test::JfrChunk chunk;
  chunk.Metadata({Element::Class(8, "test.Empty"),
                  Element::Event(50, "test.Nothing", {Element::Field("all", 8).Array()})});
  chunk.Event(50, chunk.Values().Key(INT32_MAX));
  chunk.Event(50, chunk.Values().Key(INT64_MAX));
  chunk.Checkpoint({{8, {{1, chunk.Values()}, {2, chunk.Values()}}}});
  const Contents contents = Read(chunk.Bytes());
  EXPECT_EQ(contents.rows.size(), 2U);
  EXPECT_EQ(contents.damage.checkpoints, 0U);
}

// A class whose name is a class whose name is itself.
TEST(ChunkTest, CyclesOfKeysEnd) {
  test::JfrChunk chunk;
  chunk.Metadata({Element::Class(8, "test.Loop", {Element::Field("name", 8).Pooled()}),
                  Element::Event(50, "test.Cycle", {Element::Field("loop", 8).Pooled()})});
  chunk.Event(50, chunk.Values().Key(1));
  chunk.Checkpoint({{8, {{1, chunk.Values().Key(1)}}}});
  EXPECT_THAT(Read(chunk.Bytes()).rows, ElementsAre("test.Cycle\t-\t-\t-\t-\t-\t0\t-\t-\tloop=-"));
}

TEST(ChunkTest, StacksAreCutAtTheirLimit) {
  test::JfrChunk chunk = test::SampleJfrChunk(true);
  test::JfrValues deep = chunk.Values().Byte(0).Int(Names::kMaxFrames + 1);
  for (size_t i = 0; i < Names::kMaxFrames + 1; ++i) deep.Key(50).Int(1).Int(2).Key(0);
  chunk.Checkpoint({{24, {{61, deep}}}});
  chunk.Event(100, chunk.Values().Long(6'000).Long(1).Key(7).Key(61).Key(30).Long(20));
  EXPECT_THAT(Read(chunk.Bytes()).rows.back(), HasSubstr("\t4096\ttrue\t"));
}

TEST(ChunkTest, SizesThatPointOutsideAreDamage) {
  for (const uint64_t size : {uint64_t{1}, uint64_t{67}, uint64_t{1} << 40, ~uint64_t{0}}) {
    test::JfrChunk chunk = test::SampleJfrChunk(true);
    chunk.size = size;
    const Contents contents = Read(chunk.Bytes());
    EXPECT_TRUE(contents.damage.any()) << size;
    EXPECT_EQ(contents.damage.cut_chunks, size > 67 ? 1U : 0U) << size;
  }
}

}  // namespace
}  // namespace offcpu::jfr
