// SPDX-License-Identifier: MIT
#include "symbolize/open_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <string>

#include "tests/support/scratch_tree.h"

namespace offcpu::symbolize {
namespace {

using testing::ScratchTree;

// A file at `path` as process 7 saw it at `seen_path`.
model::Module ModuleOf(const std::string& path, const std::string& seen_path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  model::Module module;
  module.pid = 7;
  module.path = seen_path;
  module.device_major = major(status.st_dev);
  module.device_minor = minor(status.st_dev);
  module.inode = status.st_ino;
  module.map_start = 0x1000;
  module.map_end = 0x2000;
  return module;
}

TEST(OpenModuleFileTest, AFileOfAContainerIsOpenedThroughTheProcessRoot) {
  const ScratchTree tree;
  const std::string path = tree.Write("7/root/opt/app", "x");
  const auto file = OpenModuleFile(tree.path(), ModuleOf(path, "/opt/app"));
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(file->status.st_size, 1);
}

TEST(OpenModuleFileTest, ADeletedFileIsOpenedThroughMapFiles) {
  const ScratchTree tree;
  const std::string path = tree.Write("elsewhere", "x");
  std::filesystem::create_directories(tree / "7/map_files");
  std::filesystem::create_symlink(path, tree / "7/map_files/1000-2000");
  EXPECT_TRUE(OpenModuleFile(tree.path(), ModuleOf(path, "/opt/app (deleted)")));
}

TEST(OpenModuleFileTest, AFileOfAProcessThatIsGoneIsOpenedByItsPath) {
  const ScratchTree tree;
  const std::string path = tree.Write("app", "x");
  EXPECT_TRUE(OpenModuleFile(tree / "proc", ModuleOf(path, path)));
}

TEST(OpenModuleFileTest, AFilePutInItsPlaceIsRefused) {
  const ScratchTree tree;
  const std::string path = tree.Write("app", "old");
  const model::Module module = ModuleOf(path, path);
  tree.Write("new", "new");
  std::filesystem::rename(tree / "new", path);
  const auto file = OpenModuleFile(tree / "proc", module);
  ASSERT_FALSE(file.has_value());
  EXPECT_NE(file.error().message.find("replaced"), std::string::npos);
}

TEST(OpenModuleFileTest, TheSameInodeOfAnotherDeviceIsAnotherFile) {
  const ScratchTree tree;
  const std::string path = tree.Write("app", "x");
  model::Module module = ModuleOf(path, path);
  module.device_minor += 1;
  struct stat status {};
  ASSERT_EQ(::stat("/", &status), 0);
  const auto file = OpenModuleFile(tree / "proc", module);
  if (file) GTEST_SKIP() << "file system whose device numbers differ between stat and maps";
  EXPECT_NE(file.error().message.find("replaced"), std::string::npos);
}

TEST(OpenModuleFileTest, WithoutAnInodeNothingIsTrusted) {
  const ScratchTree tree;
  model::Module module = ModuleOf(tree.Write("app", "x"), tree / "app");
  module.inode = 0;
  EXPECT_FALSE(OpenModuleFile(tree / "proc", module));
}

TEST(OpenModuleFileTest, APipeIsNeverOpened) {
  const ScratchTree tree;
  const std::string path = tree / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(OpenModuleFile(tree / "proc", ModuleOf(path, path)));
}

}  // namespace
}  // namespace offcpu::symbolize
