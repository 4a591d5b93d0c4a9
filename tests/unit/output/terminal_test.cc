// SPDX-License-Identifier: MIT
#include "output/terminal.h"

#include <gtest/gtest.h>

#include "output/csv.h"
#include "output/text_table.h"

namespace offcpu::output {
namespace {

TEST(FormatDuration, HasThreeDigitsInTheUnitThatFits) {
  EXPECT_EQ(FormatDuration(0), "0 ns");
  EXPECT_EQ(FormatDuration(999), "999 ns");
  EXPECT_EQ(FormatDuration(1000), "1.00 us");
  EXPECT_EQ(FormatDuration(12'345), "12.3 us");
  EXPECT_EQ(FormatDuration(123'456), "123 us");
  EXPECT_EQ(FormatDuration(1'230'000), "1.23 ms");
  EXPECT_EQ(FormatDuration(45'000'000'000), "45.0 s");
  EXPECT_EQ(FormatDuration(3600 * kNanosPerSecond), "3600 s");
}

TEST(FormatDuration, CarriesIntoTheNextDigitAndUnit) {
  EXPECT_EQ(FormatDuration(9'994), "9.99 us");
  EXPECT_EQ(FormatDuration(9'995), "10.0 us");
  EXPECT_EQ(FormatDuration(99'950), "100 us");
  EXPECT_EQ(FormatDuration(999'499), "999 us");
  EXPECT_EQ(FormatDuration(999'500), "1.00 ms");
  EXPECT_EQ(FormatDuration(999'999'999), "1.00 s");
  EXPECT_EQ(FormatDuration(~Nanos{0}), "18446744074 s");
}

TEST(FormatShare, SaysWhenItIsSmallOrOfNothing) {
  EXPECT_EQ(FormatShare(123, 1000), "12.3 %");
  EXPECT_EQ(FormatShare(1, 1), "100.0 %");
  EXPECT_EQ(FormatShare(1, 100'000), "<0.1 %");
  EXPECT_EQ(FormatShare(0, 5), "0.0 %");
  EXPECT_EQ(FormatShare(0, 0), "-");
  EXPECT_EQ(FormatShare(~0ULL, ~0ULL), "100.0 %");
}

TEST(Printable, LeavesNothingForATerminalToActOn) {
  EXPECT_EQ(Printable("plain text"), "plain text");
  EXPECT_EQ(Printable("\x1b[31m\n\t\x7f"), "\\x1b[31m\\x0a\\x09\\x7f");
  EXPECT_EQ(Printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(Printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b31m");
}

TEST(Printable, KeepsUtf8AndShowsWhatIsNone) {
  EXPECT_EQ(Printable("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"),
            "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(Printable("cut \xc3"), "cut \\xc3");
  EXPECT_EQ(Printable("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(Printable("\xc0\xaf"), "\\xc0\\xaf");                    // overlong
  EXPECT_EQ(Printable("\xe0\x80\x80"), "\\xe0\\x80\\x80");           // overlong
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // a surrogate
  EXPECT_EQ(Printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond U+10FFFF
}

TEST(TextTable, AlignsByCharactersAndEndsLinesWithoutBlanks) {
  TextTable table({{"N"}, {"NAME", TextTable::Align::kLeft}, {"TAIL", TextTable::Align::kLeft}});
  table.AddRow({"1", "\xc3\xa4", "x"});
  table.AddRow({"234", "bcdef", ""});
  EXPECT_EQ(table.Render(), "  N  NAME   TAIL\n  1  \xc3\xa4      x\n234  bcdef\n");
}

TEST(TextTable, MakesCellsPrintable) {
  TextTable table({{"A"}});
  table.AddRow({"\x1b"});
  EXPECT_EQ(table.Render(), "   A\n\\x1b\n");
}

TEST(CsvRow, QuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(CsvRow({"a b", "1", ""}), "a b,1,\n");
  EXPECT_EQ(CsvRow({"a,b", "say \"x\"", "l\nm", "\r"}),
            "\"a,b\",\"say \"\"x\"\"\",\"l\nm\",\"\r\"\n");
  EXPECT_EQ(CsvRow({"; \x1b"}), "; \x1b\n");
}

}  // namespace
}  // namespace offcpu::output
