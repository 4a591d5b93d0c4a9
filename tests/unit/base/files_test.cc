// SPDX-License-Identifier: MIT
#include "base/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/bytes.h"

namespace offcpu {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class OutputFileTest : public testing::Test {
 protected:
  OutputFileTest() {
    char name[] = "/tmp/offcpu-files-XXXXXX";
    folder = ::mkdtemp(name);
  }
  ~OutputFileTest() override { fs::remove_all(folder); }
  std::string Read(const std::string& name) { return ReadSmallFile(folder / name).value_or("?"); }
  size_t Files() { return static_cast<size_t>(std::distance(fs::directory_iterator(folder), {})); }

  fs::path folder;
};

TEST_F(OutputFileTest, AFileAppearsWhenItIsComplete) {
  auto file = OutputFile::Create(folder / "out", false);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->Write("text"));
  EXPECT_FALSE(fs::exists(folder / "out"));
  ASSERT_TRUE(file->Commit());
  EXPECT_EQ(Read("out"), "text");
  EXPECT_EQ(Files(), 1U);
}

TEST_F(OutputFileTest, AFileThatIsNotCommittedLeavesNothing) {
  {
    auto file = OutputFile::Create(folder / "out", false);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->Write("text"));
  }
  EXPECT_EQ(Files(), 0U);
}

TEST_F(OutputFileTest, AnExistingFileIsOnlyReplacedByForce) {
  std::ofstream(folder / "out") << "old";
  const auto refused = OutputFile::Create(folder / "out", false);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().hint, HasSubstr("--force"));
  auto file = OutputFile::Create(folder / "out", true);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->Write("new"));
  EXPECT_EQ(Read("out"), "old");
  ASSERT_TRUE(file->Commit());
  EXPECT_EQ(Read("out"), "new");
  EXPECT_EQ(Files(), 1U);
}

TEST_F(OutputFileTest, AFileThatCameIntoBeingMeanwhileIsNotReplaced) {
  auto file = OutputFile::Create(folder / "out", false);
  ASSERT_TRUE(file);
  std::ofstream(folder / "out") << "other";
  EXPECT_FALSE(file->Commit());
  EXPECT_EQ(Read("out"), "other");
}

TEST_F(OutputFileTest, AFolderThatIsMissingIsNamed) {
  const auto file = OutputFile::Create(folder / "no/out", false);
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, HasSubstr("no/out"));
}

TEST(FilesTest, PartsBetweenSeparators) {
  EXPECT_THAT(Split("a,b,,c", ','), ElementsAre("a", "b", "", "c"));
  EXPECT_THAT(Split("a\n", '\n'), ElementsAre("a"));
  EXPECT_THAT(Split("", ','), testing::IsEmpty());
  EXPECT_EQ(Trim(" \ta b\n"), "a b");
  EXPECT_EQ(Trim(" \n"), "");
}

TEST(BytesTest, ReadingPastTheEndYieldsZerosAndIsRemembered) {
  const std::byte data[] = {std::byte{1}, std::byte{2}, std::byte{3}};
  Bytes bytes(data);
  EXPECT_EQ(bytes.Read<uint16_t>(), 0x0201);
  EXPECT_EQ(bytes.Read<uint32_t>(), 0U);
  EXPECT_FALSE(bytes.ok());
  EXPECT_EQ(bytes.Read<uint8_t>(), 0U) << "for good";
}

TEST(BytesTest, AStringEndsAtItsNulOrAtTheEnd) {
  const std::byte data[] = {std::byte{'a'}, std::byte{0}, std::byte{'b'}};
  Bytes bytes(data);
  EXPECT_EQ(bytes.TakeString(), "a");
  EXPECT_EQ(bytes.TakeString(), "b");
  EXPECT_EQ(bytes.TakeString(), "");
  EXPECT_TRUE(bytes.ok());
}

}  // namespace
}  // namespace offcpu
