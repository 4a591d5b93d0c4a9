// SPDX-License-Identifier: MIT
#include "analyze/text_order.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace offcpu::analyze {
namespace {

TEST(Utf16Less, OrdersByUtf16CodeUnits) {
  const std::vector<std::string_view> ascending{
      "",
      "A",
      "Z",
      "a",
      "a ",
      "a;",
      "\xc3\xa4",          // U+00E4
      "\xed\x9f\xbf",      // U+D7FF
      "\xf0\x90\x80\x80",  // U+10000, D800 DC00
      "\xf4\x8f\xbf\xbf",  // U+10FFFF, DBFF DFFF
      "\xee\x80\x80",      // U+E000
      "\xef\xbf\xbf",      // U+FFFF
  };
  for (size_t i = 0; i < ascending.size(); ++i) {
    for (size_t j = 0; j < ascending.size(); ++j) {
      EXPECT_EQ(Utf16Less(ascending[i], ascending[j]), i < j) << i << ' ' << j;
    }
  }
}

TEST(Utf16Less, OrdersAnyTwoBytesSomehow) {
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const std::string left(1, static_cast<char>(a));
      const std::string right(1, static_cast<char>(b));
      EXPECT_EQ(Utf16Less(left, right) || Utf16Less(right, left), a != b);
      EXPECT_FALSE(Utf16Less(left, right) && Utf16Less(right, left));
    }
  }
}

}  // namespace
}  // namespace offcpu::analyze
