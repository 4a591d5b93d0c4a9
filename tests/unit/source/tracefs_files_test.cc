// SPDX-License-Identifier: MIT
#include "source/tracefs_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "source/limits.h"

namespace offcpu::source {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class TracefsFilesTest : public testing::Test {
 protected:
  TracefsFilesTest() {
    char name[] = "/tmp/offcpu-tracefs-XXXXXX";
    folder = ::mkdtemp(name);
  }
  ~TracefsFilesTest() override {
    std::error_code error;
    fs::permissions(folder / "closed", fs::perms::owner_all, error);
    fs::remove_all(folder, error);
  }

  void AddEvent(const fs::path& root, const std::string& event, const std::string& text) {
    fs::create_directories(root / "events/sched" / event);
    std::ofstream(root / "events/sched" / event / "format") << text;
  }

  fs::path folder;
};

TEST_F(TracefsFilesTest, AnEmptyMountPointIsNotMounted) {
  fs::create_directories(folder / "tracing");
  const auto files = TracefsFiles::Find({folder / "tracing", folder / "debug/tracing"});
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(files.error().message, HasSubstr("not mounted"));
  EXPECT_THAT(files.error().hint, HasSubstr("mount -t tracefs"));
}

TEST_F(TracefsFilesTest, ThePlaceBelowDebugfsServesToo) {
  AddEvent(folder / "debug/tracing", "sched_switch", "name: sched_switch\n");
  const auto files = TracefsFiles::Find({folder / "tracing", folder / "debug/tracing"});
  ASSERT_TRUE(files);
  EXPECT_EQ(files->root(), folder / "debug/tracing");
  EXPECT_EQ(files->ReadFormat("sched", "sched_switch").value_or(""), "name: sched_switch\n");
}

TEST_F(TracefsFilesTest, AnEventThatTheKernelLacksIsNamed) {
  AddEvent(folder, "sched_switch", "x");
  const auto files = TracefsFiles::Find({folder});
  ASSERT_TRUE(files);
  const auto text = files->ReadFormat("sched", "sched_wakeup");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(text.error().message, HasSubstr("sched:sched_wakeup"));
}

TEST_F(TracefsFilesTest, OneWithoutRightsIsToldApart) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  AddEvent(folder / "closed", "sched_switch", "x");
  fs::permissions(folder / "closed", fs::perms::none);
  const auto files = TracefsFiles::Find({folder / "closed"});
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().code, ErrorCode::kPermission);
  EXPECT_THAT(files.error().hint, HasSubstr("remount"));
}

// H2.
TEST(LimitsTest, TooFewDescriptorsAreToldBeforehandWithBothNumbers) {
  const auto enough = EnsureDescriptors(1U << 30);
  ASSERT_FALSE(enough);
  EXPECT_THAT(enough.error().message,
              ::testing::ContainsRegex("needs 107374[0-9]+ open files, the limit is [0-9]+"));
  EXPECT_THAT(enough.error().hint, HasSubstr("ulimit -n"));
  EXPECT_TRUE(EnsureDescriptors(1));
}

}  // namespace
}  // namespace offcpu::source
