// SPDX-License-Identifier: MIT
#include "symbolize/recorded_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <string>

#include "symbolize/running_kernel.h"
#include "tests/support/elf_builder.h"
#include "tests/support/scratch_tree.h"

namespace offcpu::symbolize {
namespace {

using ::testing::HasSubstr;
using std::string_literals::operator""s;
using testing::ElfBuilder;

const std::string kBuildId = "0123456789abcdef0123";

class RecordedFileTest : public ::testing::Test {
 protected:
  RecordedFileTest() { options_.live = false; }

  model::Module Module(const std::string& path, const std::string& build_id) {
    model::Module module;
    module.path = path;
    module.build_id = build_id;
    return module;
  }

  testing::ScratchTree tree_;
  Options options_;
};

TEST_F(RecordedFileTest, TheFileMustHaveTheRecordedBuildId) {
  const std::string path = tree_.Write("lib.so", ElfBuilder().BuildId(kBuildId).Build());
  EXPECT_TRUE(OpenRecordedFile(options_, Module(path, kBuildId)));
  const auto other = OpenRecordedFile(options_, Module(path, "another id, 20 bytes"));
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("another build-id"));
}

TEST_F(RecordedFileTest, FilesOfTheRecordedMachineAreLookedForFirst) {
  tree_.Write("root/opt/lib.so", ElfBuilder().BuildId(kBuildId).Build());
  options_.below = tree_ / "root";
  EXPECT_TRUE(OpenRecordedFile(options_, Module("/opt/lib.so", kBuildId)));
  EXPECT_TRUE(OpenRecordedFile(options_, Module("/opt/lib.so", "")));
  EXPECT_FALSE(OpenRecordedFile(options_, Module("/opt/other.so", kBuildId)));
}

TEST_F(RecordedFileTest, WithoutBuildIdOnlyTheSameFileOfThisMachineServes) {
  const std::string path = tree_.Write("lib.so", ElfBuilder().Build());
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  model::Module module = Module(path, "");
  module.device_major = major(status.st_dev);
  module.device_minor = minor(status.st_dev);
  module.inode = status.st_ino;
  EXPECT_FALSE(OpenRecordedFile(options_, module));
  options_.same_host = true;
  EXPECT_TRUE(OpenRecordedFile(options_, module));
  ++module.inode;
  EXPECT_FALSE(OpenRecordedFile(options_, module));
}

TEST_F(RecordedFileTest, TheKernelsNotesHaveItsBuildId) {
  const auto number = [](uint32_t value) { return testing::RawBytes(value); };
  const std::string other = number(4) + number(2) + number(1) + "Xen\0"s + "ab\0\0"s;
  const std::string id = number(4) + number(4) + number(3) + "GNU\0"s + "WXYZ";
  EXPECT_EQ(RunningKernelBuildId(tree_.Write("notes", other + id)), "WXYZ");
  EXPECT_EQ(RunningKernelBuildId(tree_.Write("cut", other + id.substr(0, 14))), "");
  EXPECT_EQ(RunningKernelBuildId(tree_ / "absent"), "");
}

TEST_F(RecordedFileTest, TheKernelsAddressesMayBeHidden) {
  const std::string text = "0000000000000000 A percpu\nffffffff81000000 T _text\n";
  EXPECT_EQ(RunningKernelAddress("_text", tree_.Write("kallsyms", text)), 0xffffffff81000000U);
  EXPECT_EQ(RunningKernelAddress("text", tree_ / "kallsyms"), std::nullopt);
  EXPECT_EQ(RunningKernelAddress("percpu", tree_ / "kallsyms"), std::nullopt);
}

}  // namespace
}  // namespace offcpu::symbolize
