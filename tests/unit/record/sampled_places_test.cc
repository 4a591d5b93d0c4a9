// SPDX-License-Identifier: MIT
#include "record/sampled_places.h"

#include <numeric>

#include <gtest/gtest.h>

#include "profile/canonical.h"
#include "profile/validate.h"

namespace offcpu::record {
namespace {

Nanos Sum(const std::vector<Nanos>& parts) {
  return std::accumulate(parts.begin(), parts.end(), Nanos{0});
}

TEST(ShareOutTest, PartsAddUpToTheWholeInProportion) {
  EXPECT_EQ(ShareOut(100, {1, 1, 2}), (std::vector<Nanos>{25, 25, 50}));
  const auto parts = ShareOut(1'000'000'007, {3, 3, 1});
  EXPECT_EQ(Sum(parts), 1'000'000'007U);
  EXPECT_NEAR(static_cast<double>(parts[0]), 1'000'000'007 * (3 / 7.0), 1);
}

TEST(ShareOutTest, TheLargestNumbersFit) {
  EXPECT_EQ(Sum(ShareOut(~Nanos{0}, {uint64_t{1} << 63, 1, (uint64_t{1} << 63) - 2})), ~Nanos{0});
}

TEST(ShareOutTest, WithoutWeightNobodyGetsAnything) {
  EXPECT_EQ(Sum(ShareOut(100, {0, 0})), 0U);
  EXPECT_TRUE(ShareOut(100, {}).empty());
}

class SampledPlacesTest : public ::testing::Test {
 protected:
  static constexpr Nanos kWindow = 4 * kNanosPerSecond;

  SampledPlaces::CellId Place(int syscall, const char* function, uint32_t state = 1) {
    SampledPlace place;
    place.thread = 1;
    place.task_state = state;
    place.comm = "a";
    place.process = "app";
    place.syscall = syscall;
    place.name = syscall == 7 ? "poll" : "";
    place.kernel = {function, "entry"};
    return places_.Find(place);
  }

  // The thread slept so long, in a profile that holds nothing else and is valid.
  profile::Profile Build(Nanos sleeping, const sched::StateFilter& states = {}) {
    profile::Profile profile;
    profile.origin.sample_hz = 100;
    profile.window_ns = kWindow;
    profile.when_bucket_ns = profile::kMinWhenBucket << profile::WhenShift(kWindow);
    profile::Interner names(&profile);
    profile::Thread thread;
    thread.pid = thread.tid = thread.inner_pid = thread.inner_tid = 7;
    thread.comm = names.AddString("a");
    thread.process = names.AddString("app");
    thread.last_ns = kWindow;
    thread.sleeping_ns = sleeping;
    thread.on_cpu_ns = kWindow - sleeping;
    thread.samples = places_.SamplesOf(1);
    profile.threads.push_back(thread);
    shares_ = places_.ShareOut(1, {0, kWindow, sleeping, "a", "app"}, states, kWindow, &names);
    for (profile::Entry& entry : shares_.entries) {
      entry.thread = 1;
      profile.entries.push_back(entry);
    }
    profile = profile::Canonicalize(std::move(profile));
    const auto valid = profile::ValidateProfile(profile);
    EXPECT_TRUE(valid) << valid.error().message;
    return profile;
  }

  static std::vector<std::string> Names(const profile::Profile& profile, size_t entry) {
    std::vector<std::string> names;
    for (const profile::FrameId id : FramesOf(profile, profile.entries[entry].kernel_stack)) {
      names.emplace_back(profile.String(profile.frames[id].name));
    }
    return names;
  }

  SampledPlaces places_;
  SampledPlaces::Shares shares_;
};

TEST_F(SampledPlacesTest, SleepIsSharedOutBySamplesAndAddsUp) {
  for (int i = 0; i < 3; ++i) places_.Add(Place(7, "poll_wait"), i * kNanosPerSecond, 1);
  places_.Add(Place(7, "poll_wait"), 3 * kNanosPerSecond, 1);
  places_.Add(Place(9, "other"), kWindow - 1, 1);
  const Nanos sleeping = 3'333'333'333;
  const profile::Profile profile = Build(sleeping);
  ASSERT_EQ(profile.entries.size(), 2U);
  Nanos sum = 0;
  for (const profile::Entry& entry : profile.entries) sum += entry.observed_ns;
  EXPECT_EQ(sum, sleeping);
  EXPECT_EQ(Names(profile, 0), (std::vector<std::string>{"[syscall 9]", "entry", "other"}));
  EXPECT_EQ(Names(profile, 1), (std::vector<std::string>{"[syscall poll]", "entry", "poll_wait"}));
  EXPECT_EQ(profile.entries[1].intervals, 4U);
  EXPECT_NEAR(static_cast<double>(profile.entries[1].observed_ns), sleeping * 0.8, 1);
  EXPECT_EQ(profile.entries[1].when.size(), 4U);
}

TEST_F(SampledPlacesTest, ASampleOfEveryThirdLookWeighsAsThree) {
  places_.Add(Place(7, "poll_wait"), 0, 3);
  places_.Add(Place(9, "other"), 1, 1);
  const profile::Profile profile = Build(4000);
  EXPECT_EQ(profile.entries[0].observed_ns, 1000U);
  EXPECT_EQ(profile.entries[1].observed_ns, 3000U);
  EXPECT_EQ(profile.entries[1].intervals, 1U);
}

TEST_F(SampledPlacesTest, SleepThatWasNeverSampledStandsUnderAMarker) {
  const profile::Profile profile = Build(12'345);
  ASSERT_EQ(profile.entries.size(), 1U);
  EXPECT_EQ(profile.entries[0].observed_ns, 12'345U);
  EXPECT_EQ(profile.entries[0].intervals, 0U);
  EXPECT_EQ(Names(profile, 0), (std::vector<std::string>{"[not sampled]"}));
}

TEST_F(SampledPlacesTest, StatesThatAreNotWantedAreCounted) {
  places_.Add(Place(7, "poll_wait", model::kTaskInterruptible), 0, 1);
  places_.Add(Place(0, "io", model::kTaskUninterruptible), 1, 1);
  const profile::Profile profile = Build(1000, *sched::StateFilter::Parse("D"));
  ASSERT_EQ(profile.entries.size(), 1U);
  EXPECT_EQ(profile.entries[0].task_state, model::kTaskUninterruptible);
  EXPECT_EQ(shares_.rejected_ns, 500U);
  EXPECT_EQ(shares_.rejected_samples, 1U);
}

TEST_F(SampledPlacesTest, BeyondTheLimitPlacesJoinUnderAMarker) {
  places_ = SampledPlaces(1);
  places_.Add(Place(7, "a"), 0, 1);
  places_.Add(Place(7, "b"), 0, 1);
  places_.Add(Place(7, "c"), 0, 1);
  const profile::Profile profile = Build(900);
  ASSERT_EQ(profile.entries.size(), 2U);
  EXPECT_EQ(Names(profile, 1), (std::vector<std::string>{"[too many stacks]"}));
  EXPECT_EQ(profile.entries[1].observed_ns, 600U);
}

}  // namespace
}  // namespace offcpu::record
