// SPDX-License-Identifier: MIT
#include "output/collapsed.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "analyze/frame_text.h"
#include "output/slice_json.h"
#include "tests/support/profile_fixture.h"
#include "tests/support/wait_profiles.h"

namespace offcpu::output {
namespace {

analyze::Slice SliceOf(const profile::Profile& profile, const analyze::SliceOptions& options) {
  const std::vector<std::string> texts = analyze::FrameTexts(profile);
  const auto filter = analyze::Filter::Create(profile, texts, analyze::Selection());
  EXPECT_TRUE(filter);
  auto slice = analyze::BuildSlice(profile, texts, *filter, options);
  EXPECT_TRUE(slice);
  return *slice;
}

TEST(ToMicros, RoundsHalfUpAndLosesNoTimeAltogether) {
  EXPECT_EQ(ToMicros(0), 0);
  EXPECT_EQ(ToMicros(1), 1);
  EXPECT_EQ(ToMicros(499), 1);
  EXPECT_EQ(ToMicros(1499), 1);
  EXPECT_EQ(ToMicros(1500), 2);
  EXPECT_EQ(ToMicros(3'600'000'000'000), 3'600'000'000);
  EXPECT_EQ(ToMicros((1ULL << 53) + 1), 9'007'199'254'741);
  EXPECT_EQ(ToMicros(~0ULL), 18'446'744'073'709'552);
}

std::string Collapsed(const analyze::Slice& slice, Unit unit, bool for_terminal) {
  std::string text;
  const auto written = WriteCollapsed(slice, unit, for_terminal, [&](std::string_view piece) {
    text += piece;
    return Result<void>();
  });
  EXPECT_TRUE(written);
  return text;
}

TEST(Collapsed, RoundsOnceAfterMerging) {
  testing::ProfileFixture fixture;
  for (model::Tid tid = 1; tid <= 5; ++tid) {
    const auto thread = fixture.AddThread(1, tid, "a", "a");
    fixture.AddEntry({.thread = thread,
                      .user_stack = fixture.AddStack({testing::UserFrame("f")}),
                      .sleeping_ns = 500});
  }
  analyze::SliceOptions options;
  options.stack = analyze::StackPart::kUser;
  const profile::Profile profile = fixture.Build();
  EXPECT_EQ(Collapsed(SliceOf(profile, options), Unit::kMicros, false), "f 3\n");
  EXPECT_EQ(Collapsed(SliceOf(profile, options), Unit::kNanos, false), "f 2500\n");
}

TEST(Collapsed, KeepsTheNumberOfFramesForAnyName) {
  analyze::SliceOptions options;
  options.thread_frames = analyze::ThreadFrames::kName;
  const analyze::Slice slice = SliceOf(testing::NamesProfile(), options);
  std::string text = Collapsed(slice, Unit::kMicros, false);
  for (const analyze::SliceLine& line : slice.lines) {
    const size_t end = text.find('\n');
    ASSERT_NE(end, std::string::npos);
    const std::string frames = text.substr(0, text.rfind(' ', end));
    EXPECT_EQ(std::count(frames.begin(), frames.end(), ';') + 1, line.size) << frames;
    text.erase(0, end + 1);
  }
  EXPECT_TRUE(text.empty());
}

TEST(Collapsed, KeepsBytesInFilesAndEscapesThemOnATerminal) {
  const analyze::Slice slice = SliceOf(testing::NamesProfile(), {});
  EXPECT_NE(Collapsed(slice, Unit::kMicros, false).find("\x1b[31mred;\xff\xfe"), std::string::npos);
  const std::string shown = Collapsed(slice, Unit::kMicros, true);
  EXPECT_EQ(shown.find('\x1b'), std::string::npos);
  EXPECT_NE(shown.find("\\x1b[31mred;\\xff\\xfe"), std::string::npos);
}

TEST(Collapsed, IsEmptyWhenNothingWasRecorded) {
  EXPECT_EQ(Collapsed(SliceOf(testing::EmptyProfile(), {}), Unit::kMicros, false), "");
}

TEST(SliceJson, HoldsTheSameLinesInWholeNanoseconds) {
  const profile::Profile profile = testing::NamesProfile();
  const analyze::Slice slice = SliceOf(profile, {});
  const auto json = nlohmann::json::parse(SliceJson(profile, slice, {}));
  ASSERT_EQ(json["lines"].size(), slice.lines.size());
  uint64_t sum = 0;
  bool exact = false;
  for (const auto& line : json["lines"]) {
    ASSERT_TRUE(line["ns"].is_number_unsigned());
    sum += line["ns"].get<uint64_t>();
    exact = exact || line["ns"].get<uint64_t>() == (1ULL << 53) + 1;
  }
  EXPECT_TRUE(exact);
  EXPECT_EQ(json["summary"]["ns"].get<uint64_t>(), sum);
}

TEST(SliceJson, TellsWhatIsNotInIt) {
  const profile::Profile profile = testing::SampleProfile();
  const auto json = nlohmann::json::parse(SliceJson(profile, SliceOf(profile, {}), {}));
  EXPECT_EQ(json["summary"]["lost_events"], 12);
  EXPECT_EQ(json["summary"]["rejected"]["min_off_cpu"]["count"], 4);
  EXPECT_EQ(json["summary"]["intervals_without_time"], 1);
}

TEST(Collapsed, EndsAtTheFirstErrorOfTheWriter) {
  const auto written = WriteCollapsed(SliceOf(testing::WaitsProfile(), {}), Unit::kMicros, false,
                                      [](std::string_view) { return Failed("the disk is full"); });
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, "the disk is full");
}

}  // namespace
}  // namespace offcpu::output
