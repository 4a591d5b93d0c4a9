// SPDX-License-Identifier: MIT
#include "output/xml_text.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/xml_checker.h"

namespace offcpu::output {
namespace {

TEST(XmlTextTest, ValidTextStaysAsItIs) {
  EXPECT_EQ(VisibleText("std::vector<int>::~vector() ; [2] a/b:c"),
            "std::vector<int>::~vector() ; [2] a/b:c");
  EXPECT_EQ(VisibleText("größe \u65e5\u672c \U0001f600 \ufffd"),
            "größe \u65e5\u672c \U0001f600 \ufffd");
}

TEST(XmlTextTest, ControlCharactersAreWrittenOut) {
  EXPECT_EQ(VisibleText(std::string("a\0b\x1b[31m\n\t\x7f", 11)),
            "a\\x00b\\x1b[31m\\x0a\\x09\\x7f");
  EXPECT_EQ(VisibleText("\xc2\x85"), "\\xc2\\x85");  // NEL
}

TEST(XmlTextTest, BytesThatAreNoUtf8AreWrittenOut) {
  EXPECT_EQ(VisibleText("a\xffz"), "a\\xffz");
  EXPECT_EQ(VisibleText("caf\xc3"), "caf\\xc3");                       // cut in a character
  EXPECT_EQ(VisibleText("\xc0\xaf"), "\\xc0\\xaf");                    // overlong
  EXPECT_EQ(VisibleText("\xe0\x80\xaf"), "\\xe0\\x80\\xaf");           // overlong
  EXPECT_EQ(VisibleText("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // lone surrogate
  EXPECT_EQ(VisibleText("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // above U+10FFFF
}

TEST(XmlTextTest, CharactersThatXmlForbidsAreWrittenOut) {
  EXPECT_EQ(VisibleText("\xef\xbf\xbe\xef\xbf\xbf"), "\\xef\\xbf\\xbe\\xef\\xbf\\xbf");
}

TEST(XmlTextTest, MarkupIsEscapedWithTheFiveThatXmlKnows) {
  std::string out;
  AppendXml(&out, "<&\">']]>&nbsp;");
  EXPECT_EQ(out, "&lt;&amp;&quot;&gt;&#39;]]&gt;&amp;nbsp;");
}

TEST(XmlTextTest, AnyTwoBytesBecomeWellFormedText) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      std::string out = "<a b=\"";
      const std::string name{static_cast<char>(first), static_cast<char>(second)};
      AppendXml(&out, VisibleText(name));
      out += "\">";
      AppendXml(&out, VisibleText(name));
      out += "</a>";
      ASSERT_EQ(testing::XmlFault(out), "") << first << ' ' << second;
    }
  }
}

TEST(XmlTextTest, TheCheckerFindsWhatABrowserWouldRefuse) {
  for (const std::string& bad :
       {std::string("<a>&nbsp;</a>"), std::string("<a>\x1b</a>"), std::string("<a>\0</a>", 8),
        std::string("<a>\xff</a>"), std::string("<a>\xed\xa0\x80</a>"), std::string("<a>]]></a>"),
        std::string("<a><b></a></b>"), std::string("<a b=c/>"), std::string("<a b=\"1\" b=\"2\"/>"),
        std::string("<a b=\"<\"/>"), std::string("<a>"), std::string("<a/><a/>"),
        std::string("<a>\xef\xbf\xbe</a>")}) {
    EXPECT_NE(testing::XmlFault(bad), "") << bad;
  }
  EXPECT_EQ(
      testing::XmlFault("<?xml version=\"1.0\"?>\n<a b=\"&lt;\">&amp;<![CDATA[<&]]><b/></a>\n"),
      "");
}

TEST(XmlTextTest, LabelsAreCutToTheirColumns) {
  EXPECT_EQ(ClipToCells("schedule", 8), "schedule");
  EXPECT_EQ(ClipToCells("schedule", 7), "sched..");
  EXPECT_EQ(ClipToCells("schedule", 3), "s..");
  EXPECT_EQ(ClipToCells("schedule", 2), "");
  EXPECT_EQ(ClipToCells("\u65e5\u672c\u8a9e", 6), "\u65e5\u672c\u8a9e");  // two columns each
  EXPECT_EQ(ClipToCells("\u65e5\u672c\u8a9e", 5), "\u65e5..");
  EXPECT_EQ(ClipToCells("gr\u00f6\u00dfer", 5), "gr\u00f6..");
}

}  // namespace
}  // namespace offcpu::output
