// SPDX-License-Identifier: MIT
#include "jfr/wire.h"

#include <gtest/gtest.h>

#include <string>

#include "jfr/chunk_header.h"
#include "jfr/text.h"
#include "tests/support/jfr_builder.h"

namespace offcpu::jfr {
namespace {

std::span<const std::byte> AsBytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

Wire Compressed(std::string_view bytes) { return Wire(AsBytes(bytes), /*compressed=*/true); }

std::string Decoded(std::string_view bytes, bool compressed = true) {
  Wire wire(AsBytes(bytes), compressed);
  std::string text;
  DecodeText(wire.Text(), &text);
  EXPECT_TRUE(wire.ok());
  EXPECT_EQ(wire.remaining(), 0U);
  return text;
}

TEST(WireTest, CompressedIntegersAreTruncatedToTheirWidthThenSigned) {
  // The bytes of the format notes, from recordings of JDK 17.
  EXPECT_EQ(Compressed("\xfc\xff\xff\xff\xff\xff\xff\xff\xff").Long(), -4);
  EXPECT_EQ(Compressed("\x80\x80\x80\x80\x80\x80\x80\x80\x80").Long(), INT64_MIN);
  EXPECT_EQ(Compressed("\xfd\xff\xff\xff\x0f").Int(), -3);
  EXPECT_EQ(Compressed("\xfe\xff\x03").Short(), -2);
  EXPECT_EQ(Compressed("\xc2\xb3\xe2\xb9\x02").Long(), 658020802);
}

TEST(WireTest, PaddedIntegersAreLegal) {
  Wire wire = Compressed(std::string_view("\xdf\x80\x80\x00", 4));
  EXPECT_EQ(wire.Count(), 95U);
  EXPECT_EQ(wire.remaining(), 0U);
}

TEST(WireTest, EveryIntegerComesBackInBothForms) {
  for (const bool compressed : {true, false}) {
    for (int bit = 0; bit < 64; ++bit) {
      for (const uint64_t near :
           {uint64_t{1} << bit, (uint64_t{1} << bit) - 1, ~(uint64_t{1} << bit)}) {
        const auto number = static_cast<int64_t>(near);
        test::JfrValues values(compressed);
        values.Long(number).Int(static_cast<int32_t>(number)).Short(static_cast<int16_t>(number));
        Wire wire(AsBytes(values.bytes()), compressed);
        EXPECT_EQ(wire.Long(), number);
        EXPECT_EQ(wire.Int(), static_cast<int32_t>(number));
        EXPECT_EQ(wire.Short(), static_cast<int16_t>(number));
        EXPECT_TRUE(wire.ok());
        EXPECT_EQ(wire.remaining(), 0U);
      }
    }
  }
}

TEST(WireTest, ReadingPastTheEndYieldsZerosForGood) {
  Wire wire = Compressed("\x80\x80");
  EXPECT_EQ(wire.Long(), 0);
  EXPECT_FALSE(wire.ok());
  EXPECT_EQ(wire.Byte(), 0);
  EXPECT_EQ(wire.Double(), 0.0);
  EXPECT_TRUE(wire.Take(1).empty());
  EXPECT_EQ(wire.remaining(), 0U);
}

TEST(WireTest, RealsAreBigEndian) {
  EXPECT_EQ(Compressed(std::string_view("\x3f\xc0\0\0", 4)).Float(), 1.5F);
  EXPECT_EQ(Compressed(std::string_view("\xc0\x04\0\0\0\0\0\0", 8)).Double(), -2.5);
}

TEST(WireTest, StringsOfAllFormsBecomeUtf8) {
  EXPECT_EQ(Decoded(std::string_view("\0", 1)), "");
  EXPECT_EQ(Decoded("\x01"), "");
  EXPECT_EQ(Decoded("\x03\x03"
                    "abc"),
            "abc");
  EXPECT_EQ(Decoded("\x05\x02\xe9!"), "\u00e9!");
  // From a recording: "latin" with an accent, as the JDK's Java writer has it.
  EXPECT_EQ(Decoded("\x04\x07"
                    "latin \xe9\x01"),
            "latin \u00e9");
  EXPECT_EQ(Decoded(std::string_view("\x04\0\0\0\x02\xd8\x3d\xde\0", 9), /*compressed=*/false),
            "\U0001f600");
}

TEST(WireTest, WhatIsNoTextIsReplaced) {
  EXPECT_EQ(Decoded("\x03\x04"
                    "a\xff"
                    "bc"),
            "a\ufffdbc");
  EXPECT_EQ(Decoded("\x03\x03\xed\xa0\x80"), "\ufffd\ufffd\ufffd");  // a surrogate
  EXPECT_EQ(Decoded("\x03\x02\xc0\x80"), "\ufffd\ufffd");            // over-long
  test::JfrValues lone;
  lone.Byte(4)
      .Int(3)
      .Short(static_cast<int16_t>(0xd800))
      .Short('x')
      .Short(static_cast<int16_t>(0xdc00));
  EXPECT_EQ(Decoded(lone.bytes()), "\ufffdx\ufffd");
}

TEST(WireTest, LengthsBeyondTheBytesLeftAreRefused) {
  for (const char* bytes : {"\x03\x04"
                            "abc",
                            "\x05\xff\xff\xff\xff\x0f"
                            "a",
                            "\x04\x03"
                            "ab",
                            "\x04\xff\xff\xff\xff\xff\xff\xff\xff\xff"
                            "ab",
                            "\x06", "\x02", ""}) {
    Wire wire = Compressed(bytes);
    const RawText text = wire.Text();
    EXPECT_FALSE(wire.ok());
    EXPECT_TRUE(text.bytes.empty());
  }
}

TEST(WireTest, VeryLongTextsAreCut) {
  test::JfrValues values;
  values.Utf8(std::string(kMaxTextBytes + 1, 'x'));
  const std::string text = Decoded(values.bytes());
  EXPECT_EQ(text.size(), kMaxTextBytes + 3);
  EXPECT_TRUE(text.ends_with("\u2026"));
}

TEST(ChunkHeaderTest, TheExampleOfTheFormatNotesIsRead) {
  test::JfrValues bytes(/*compressed=*/false);
  bytes.Fixed(0x464c5200, 4).Fixed(0x00020001, 4).Fixed(0x42e6a, 8).Fixed(0x42e0b, 8);
  bytes.Fixed(0x1faf, 8).Fixed(0x18eca78a354b84d2, 8).Fixed(0x94e93e6b, 8).Fixed(0x2387a23d, 8);
  bytes.Fixed(0x3b9aca00, 8).Byte(0).Byte(0).Fixed(3, 2);
  const auto header = ParseHeader(AsBytes(bytes.bytes()));
  ASSERT_TRUE(header);
  EXPECT_EQ(header->major, 2);
  EXPECT_EQ(header->minor, 1);
  EXPECT_EQ(header->size, 274'026U);
  EXPECT_EQ(header->checkpoint_offset, 273'931U);
  EXPECT_EQ(header->metadata_offset, 8'111U);
  EXPECT_EQ(header->ticks_per_second, 1'000'000'000U);
  EXPECT_TRUE(header->finished());
  EXPECT_TRUE(header->compressed);
  EXPECT_TRUE(header->last);
  EXPECT_EQ(header->EpochNanos(header->start_ticks + 5), header->start_epoch_nanos + 5);
  EXPECT_FALSE(ParseHeader(AsBytes(bytes.bytes()).first(67)));
}

TEST(ChunkHeaderTest, TicksBecomeNanosecondsWithoutLossAndWithoutOverflow) {
  ChunkHeader header;
  header.start_epoch_nanos = 1'700'000'000'000'000'000;
  header.start_ticks = 1'000;
  header.ticks_per_second = 2'800'000'000;
  // A day and one tick at 2.8 GHz; a double would be wrong by more than a hundred nanoseconds.
  const int64_t day = 86'400 * int64_t{2'800'000'000};
  EXPECT_EQ(header.EpochNanos(1'000 + day), 1'700'086'400'000'000'000);
  EXPECT_EQ(header.SpanNanos(day + 28), 86'400'000'000'010);
  header.ticks_per_second = 1;
  EXPECT_EQ(header.EpochNanos(INT64_MAX), INT64_MAX);
  EXPECT_EQ(header.SpanNanos(INT64_MIN), INT64_MIN);
}

}  // namespace
}  // namespace offcpu::jfr
