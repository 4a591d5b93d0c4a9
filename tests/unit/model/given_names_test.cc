// SPDX-License-Identifier: MIT
#include "model/given_names.h"

#include <string>

#include <gtest/gtest.h>

namespace offcpu::model {
namespace {

SymbolFrame Named(const std::string& name) { return {FrameKind::kUser, false, name, "a"}; }

TEST(GivenNamesTest, EqualFramesHaveOneNumber) {
  GivenNames names;
  const uint64_t number = names.NumberOf(Named("f"));
  EXPECT_EQ(names.NumberOf(Named("f")), number);
  EXPECT_NE(names.NumberOf(Named("g")), number);
  EXPECT_EQ(names.Find(number), Named("f"));
  EXPECT_FALSE(names.Find(0));
  EXPECT_FALSE(names.Find(number + 2));
}

TEST(GivenNamesTest, OnlySoManyAreKeptAndTheRestIsCounted) {
  GivenNames names;
  for (size_t i = 0; i < GivenNames::kMost; ++i) names.NumberOf(Named(std::to_string(i)));
  EXPECT_EQ(names.not_kept(), 0U);
  const uint64_t number = names.NumberOf(Named("one more"));
  EXPECT_EQ(names.Find(number)->kind, FrameKind::kMarker);
  EXPECT_EQ(names.not_kept(), 1U);
  EXPECT_EQ(names.Find(names.NumberOf(Named("7"))), Named("7"));
  EXPECT_EQ(names.not_kept(), 1U);
}

}  // namespace
}  // namespace offcpu::model
