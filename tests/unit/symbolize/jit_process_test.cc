// SPDX-License-Identifier: MIT
#include "symbolize/jit_process.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/support/scratch_tree.h"

namespace offcpu::symbolize {
namespace {

using testing::ScratchTree;

// Ids above the kernel's limit, so that no map of the host's /tmp has them.
constexpr model::Pid kPid = 2'000'000'007;
const std::string kProcess = std::to_string(kPid);

std::string StatusOf(const std::string& inner_pid, uid_t user) {
  const std::string id = std::to_string(user);
  return "Name:\tjava\nNSpid:\t" + kProcess + "\t" + inner_pid + "\nUid:\t" + id + "\t" + id +
         "\t" + id + "\t" + id + "\n";
}

TEST(JitProcessTest, TheMapIsNamedByTheInnermostId) {
  const ScratchTree proc;
  proc.Write(kProcess + "/status", StatusOf("17", ::geteuid()));
  proc.Write(kProcess + "/root/tmp/perf-17.map", "1000 10 inner\n");
  proc.Write(kProcess + "/root/tmp/perf-" + kProcess + ".map", "1000 10 outer\n");
  JitProcess process(proc.path(), kPid, true);
  ASSERT_TRUE(process.Update());
  EXPECT_EQ(process.Find(0x1000), "inner");
}

TEST(JitProcessTest, WithoutItTheOuterIdIsTried) {
  const ScratchTree proc;
  proc.Write(kProcess + "/status", StatusOf("17", ::geteuid()));
  proc.Write(kProcess + "/root/tmp/perf-" + kProcess + ".map", "1000 10 outer\n");
  JitProcess process(proc.path(), kPid, true);
  ASSERT_TRUE(process.Update());
  EXPECT_EQ(process.Find(0x1000), "outer");
}

TEST(JitProcessTest, NoMapIsNoError) {
  const ScratchTree proc;
  JitProcess process(proc.path(), kPid, true);
  EXPECT_TRUE(process.Update());
  EXPECT_EQ(process.Find(0x1000), "");
}

TEST(JitProcessTest, AMapThatAppearsAndGrowsIsReadAgain) {
  const ScratchTree proc;
  const std::string map = kProcess + "/root/tmp/perf-" + kProcess + ".map";
  std::filesystem::create_directories(proc / (kProcess + "/root/tmp"));
  JitProcess process(proc.path(), kPid, true);
  ASSERT_TRUE(process.Update());
  proc.Write(map, "");
  ASSERT_TRUE(process.Update());
  proc.Append(map, "1000 10 a\n");
  ASSERT_TRUE(process.Update());
  EXPECT_EQ(process.Find(0x1000), "a");
  proc.Append(map, "1000 10 b\n");
  ASSERT_TRUE(process.Update());
  EXPECT_EQ(process.Find(0x1000), "b");
}

TEST(JitProcessTest, TheMapIsFoundAfterTheProcessIsGone) {
  const ScratchTree tree;
  tree.Write("container/tmp/perf-17.map", "1000 10 late\n");
  tree.Write("proc/" + kProcess + "/status", StatusOf("17", ::geteuid()));
  std::filesystem::create_directory_symlink(tree / "container",
                                            tree / ("proc/" + kProcess + "/root"));
  JitProcess process(tree / "proc", kPid, true);
  std::filesystem::remove_all(tree / "proc");
  ASSERT_TRUE(process.Update());
  EXPECT_EQ(process.Find(0x1000), "late");
}

TEST(JitProcessTest, ALinkOrADirectoryIsRefused) {
  const ScratchTree proc;
  const std::string secret = proc.Write("secret", "1000 10 secret\n");
  std::filesystem::create_directories(proc / (kProcess + "/root/tmp"));
  const std::string map = proc / (kProcess + "/root/tmp/perf-" + kProcess + ".map");
  std::filesystem::create_symlink(secret, map);
  JitProcess process(proc.path(), kPid, true);
  EXPECT_FALSE(process.Update());
  EXPECT_EQ(process.Find(0x1000), "");
  std::filesystem::remove(map);
  std::filesystem::create_directory(map);
  EXPECT_FALSE(process.Update());
}

TEST(JitProcessTest, APipeInItsPlaceIsNeverOpened) {
  const ScratchTree proc;
  std::filesystem::create_directories(proc / (kProcess + "/root/tmp"));
  const std::string map = proc / (kProcess + "/root/tmp/perf-" + kProcess + ".map");
  ASSERT_EQ(::mkfifo(map.c_str(), 0600), 0);
  JitProcess process(proc.path(), kPid, true);
  EXPECT_FALSE(process.Update());  // opening it would wait for a writer for ever
}

TEST(JitProcessTest, AMapOfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to give a file away";
  const ScratchTree proc;
  const std::string map =
      proc.Write(kProcess + "/root/tmp/perf-" + kProcess + ".map", "1000 10 forged\n");
  proc.Write(kProcess + "/status", StatusOf(kProcess, 1234));
  ASSERT_EQ(::chown(map.c_str(), 4321, 4321), 0);
  JitProcess process(proc.path(), kPid, true);
  const auto updated = process.Update();
  ASSERT_FALSE(updated.has_value());
  EXPECT_NE(updated.error().message.find("4321"), std::string::npos);
  EXPECT_EQ(process.Find(0x1000), "");
  ASSERT_EQ(::chown(map.c_str(), 1234, 1234), 0);
  EXPECT_TRUE(process.Update());
  EXPECT_EQ(process.Find(0x1000), "forged");
}

TEST(JitProcessTest, ARealMapIsReachedThroughTheRootOfANamespacedProcess) {
  const std::string proc = testing::TestData("perf-map/ddprof/proc");
  if (!std::filesystem::exists(proc)) GTEST_SKIP() << "no " << proc;
  JitProcess process(proc, 1, true);
  ASSERT_TRUE(process.Update());
  EXPECT_EQ(process.Find(0x7fb0614a7be0).substr(0, 60),
            "bool [System.Private.CoreLib] System.SpanHelpers::Contains(c");
  EXPECT_EQ(process.Find(0xfffffffffffffffe), "");
}

}  // namespace
}  // namespace offcpu::symbolize
