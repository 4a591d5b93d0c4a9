// SPDX-License-Identifier: MIT
#include "base/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace offcpu {
namespace {

using testing::ElementsAre;

TEST(ParseTest, DurationsTakeUnitsAndDecimals) {
  EXPECT_EQ(ParseDuration("250ms").value_or(0), 250'000'000U);
  EXPECT_EQ(ParseDuration("1.5s").value_or(0), 1'500'000'000U);
  EXPECT_EQ(ParseDuration("10us").value_or(0), 10'000U);
  EXPECT_EQ(ParseDuration("7ns").value_or(0), 7U);
  EXPECT_EQ(ParseDuration("3").value_or(0), 3'000'000'000U);
  EXPECT_EQ(ParseDuration("2m").value_or(0), 120'000'000'000U);
  EXPECT_EQ(ParseDuration("0").value_or(1), 0U);
}

TEST(ParseTest, WhatIsNoDurationIsNamed) {
  for (const char* text : {"", "s", "-1s", "1 s", "1.s", ".5s", "1.0000000001s", "1e3s", "10M",
                           "1.2.3s", "99999999999999999999s", "9999999999s9"}) {
    const auto duration = ParseDuration(text);
    ASSERT_FALSE(duration) << text;
    EXPECT_EQ(duration.error().code, ErrorCode::kUsage);
    EXPECT_NE(duration.error().message.find("'" + std::string(text) + "'"), std::string::npos);
  }
}

TEST(ParseTest, SizesArePowersOf1024) {
  EXPECT_EQ(ParseSize("4M").value_or(0), 4U << 20);
  EXPECT_EQ(ParseSize("64K").value_or(0), 65536U);
  EXPECT_EQ(ParseSize("512").value_or(0), 512U);
  EXPECT_FALSE(ParseSize("4MB"));
  EXPECT_FALSE(ParseSize("99999999999G"));
}

TEST(ParseTest, CpuListsAreThoseOfTheKernel) {
  EXPECT_THAT(*ParseCpuList("0-3,8,10-11\n"), ElementsAre(0, 1, 2, 3, 8, 10, 11));
  EXPECT_THAT(*ParseCpuList("0\n"), ElementsAre(0));
  EXPECT_FALSE(ParseCpuList("3-1"));
  EXPECT_FALSE(ParseCpuList("a"));
  EXPECT_FALSE(ParseCpuList("0-99999999"));
}

}  // namespace
}  // namespace offcpu
