// SPDX-License-Identifier: MIT
#include "record/importer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "profile/validate.h"
#include "tests/support/perf_data_builder.h"
#include "tests/support/scratch_tree.h"

namespace offcpu::record {
namespace {

using test::PerfDataBuilder;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class ImporterTest : public ::testing::Test {
 protected:
  Imported Import(const std::string& bytes) {
    ImportOptions options;
    options.file = tree_.Write("perf.data", bytes);
    options.selection.runnable = options.selection.preempted = true;
    auto imported = record::Import(options);
    if (!imported) {
      ADD_FAILURE() << imported.error().message;
      return {};
    }
    EXPECT_TRUE(profile::ValidateProfile(imported->profile));
    return *std::move(imported);
  }
  static const profile::Thread* Find(const profile::Profile& profile, model::Tid tid) {
    const auto found = std::find_if(profile.threads.begin() + 1, profile.threads.end(),
                                    [tid](const auto& thread) { return thread.tid == tid; });
    return found == profile.threads.end() ? nullptr : &*found;
  }

  testing::ScratchTree tree_;
};

TEST_F(ImporterTest, EventsAloneTellWhoThereWas) {
  // Another machine's process may have this one's id.
  const model::Pid self = ::getpid();
  PerfDataBuilder file({});
  file.Comm(0, self, self, "theirs");
  file.Comm(0, 77, 77, "silent");
  file.Switch(1000, 0, self, 1, 0);
  file.Wakeup(1300, 0, self);
  file.Switch(1400, 0, 0, 0, self);
  file.Switch(2000, 0, self, 1, 0);
  const Imported imported = Import(file.File());
  EXPECT_TRUE(imported.whole);
  const profile::Profile& profile = imported.profile;
  EXPECT_EQ(profile.window_ns, 1000U);
  EXPECT_EQ(profile.origin.start_monotonic_ns, 1000U);
  EXPECT_EQ(profile.origin.backend, "replay");
  const profile::Thread* thread = Find(profile, self);
  ASSERT_NE(thread, nullptr);
  EXPECT_EQ(profile.String(thread->process), "theirs");
  EXPECT_EQ(thread->sleeping_ns, 300U);
  EXPECT_EQ(thread->runqueue_ns, 100U);
  EXPECT_EQ(thread->on_cpu_ns, 600U);
  EXPECT_EQ(thread->unknown_ns, 0U);
  EXPECT_EQ(Find(profile, 77), nullptr);
  EXPECT_THAT(profile.notes, Contains(profile::Counter{"threads_without_events", 1, 1000}));
}

TEST_F(ImporterTest, AThreadOnlyTheFirstEventsNameIsFollowed) {
  PerfDataBuilder file({});
  file.Switch(1000, 0, 0, 0, 55);
  file.Switch(1500, 0, 55, 2, 0);
  file.Switch(1800, 0, 0, 0, 55);
  const Imported imported = Import(file.File());
  const profile::Thread* thread = Find(imported.profile, 55);
  ASSERT_NE(thread, nullptr);
  EXPECT_EQ(thread->unsplit_ns, 300U);
}

TEST_F(ImporterTest, ATaskEndsWithItsEvents) {
  PerfDataBuilder file({.context_switch = true, .enable_on_exec = true});
  file.Comm(0, 7, 7, "a");
  file.Comm(0, 7, 8, "b");
  file.Switch(1000, 3, 7, 1, 99);
  file.SwitchRecord(1500, 2, 7, /*out=*/false);
  file.Exit(1700, 2, 7, 7);
  file.Switch(3000, 1, 8, 1, 0);
  const Imported imported = Import(file.File());
  const profile::Thread* thread = Find(imported.profile, 7);
  ASSERT_NE(thread, nullptr);
  EXPECT_EQ(thread->last_ns, 700U);
  EXPECT_EQ(thread->on_cpu_ns, 200U);
  EXPECT_EQ(thread->unsplit_ns, 500U);
}

TEST_F(ImporterTest, ALossIsCountedAndNoIntervalSpansIt) {
  PerfDataBuilder file({});
  file.Comm(0, 7, 7, "a");
  file.Switch(1000, 0, 7, 1, 0);
  file.Lost(5000, 0, 3);
  file.Switch(9000, 0, 0, 0, 7);
  file.Switch(9500, 0, 7, 1, 0);
  const Imported imported = Import(file.File());
  EXPECT_EQ(imported.profile.lost_events, 3U);
  EXPECT_THAT(imported.profile.losses, SizeIs(1));
  const profile::Thread* thread = Find(imported.profile, 7);
  ASSERT_NE(thread, nullptr);
  EXPECT_EQ(thread->blocked_ns(), 0U);
  EXPECT_EQ(thread->unknown_ns, 8000U);
}

TEST_F(ImporterTest, OfADamagedRecordingThereIsWhatWasReadable) {
  PerfDataBuilder file({.pipe = true});
  file.Comm(0, 7, 7, "a");
  for (uint64_t i = 0; i < 10; ++i)
    file.Switch(1000 + i, 0, i % 2 == 0 ? 7 : 0, 1, i % 2 == 0 ? 0 : 7);
  const std::string whole = file.File();
  const Imported imported = Import(whole.substr(0, whole.size() - 5));
  EXPECT_FALSE(imported.whole);
  EXPECT_THAT(imported.profile.warnings, Contains(HasSubstr("not whole")));
  EXPECT_NE(Find(imported.profile, 7), nullptr);
}

TEST_F(ImporterTest, TheSameRecordingGivesTheSameProfile) {
  PerfDataBuilder file({});
  file.Comm(0, 7, 7, "a");
  for (uint64_t i = 0; i < 50; ++i) {
    file.Switch(1000 + 2 * i, 0, 7, 1, 0, {~uint64_t{0} - 127, 0xffffffff81000010 + i});
    file.Switch(1001 + 2 * i, 0, 0, 0, 7);
  }
  EXPECT_EQ(Import(file.File()).profile, Import(file.File()).profile);
}

}  // namespace
}  // namespace offcpu::record
