// SPDX-License-Identifier: MIT
#include "symbolize/debug_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "symbolize/elf_module.h"
#include "symbolize/open_file.h"
#include "tests/support/elf_builder.h"
#include "tests/support/scratch_tree.h"

namespace offcpu::symbolize {
namespace {

using testing::ElfBuilder;
using testing::ScratchTree;

const std::string kBuildId = "0123456789abcdef0123";
const std::string kBuildIdPath = "debug/.build-id/30/31323334353637383961626364656630313233.debug";

// A tree with a stripped file in bin/, a debug directory debug/ and the root of a container.
class DebugFilesTest : public ::testing::Test {
 protected:
  DebugPlaces Places() const { return {tree_ / "debug", tree_ / "root", tree_ / "bin"}; }

  ElfFile Stripped(const ElfBuilder& builder) const {
    auto opened = OpenRegularFile(tree_.Write("bin/program", builder.Build()));
    EXPECT_TRUE(opened.has_value());
    auto file = ElfFile::Open(std::move(opened->fd));
    EXPECT_TRUE(file.has_value());
    return *std::move(file);
  }
  std::string Find(const ElfBuilder& stripped) const {
    const auto found = FindDebugFile(Stripped(stripped), Places());
    return found ? found->path : "";
  }
  uint32_t Checksum(const std::string& path) const {
    return DebugLinkChecksum(OpenRegularFile(path)->fd.get()).value();
  }

  ScratchTree tree_;
  ElfBuilder debug_ = ElfBuilder().Function("hidden", 0x200, 0x10);
};

TEST_F(DebugFilesTest, ABuildIdNamesTheFile) {
  const std::string path = tree_.Write(kBuildIdPath, debug_.BuildId(kBuildId).Build());
  EXPECT_EQ(Find(ElfBuilder().BuildId(kBuildId)), path);
}

TEST_F(DebugFilesTest, AFileWithAnotherBuildIdIsRefused) {
  tree_.Write(kBuildIdPath, debug_.BuildId("another one").Build());
  EXPECT_EQ(Find(ElfBuilder().BuildId(kBuildId)), "");
}

TEST_F(DebugFilesTest, ADebugLinkIsLookedUpInThreePlaces) {
  const std::vector<std::string> places{"bin/", "bin/.debug/", "debug" + (tree_ / "bin/")};
  for (const std::string& place : places) {
    const std::string path = tree_.Write(place + "p.debug", debug_.Build());
    EXPECT_EQ(Find(ElfBuilder().DebugLink("p.debug", Checksum(path))), path);
    std::filesystem::remove(path);
  }
}

TEST_F(DebugFilesTest, ADebugLinkWithAnotherChecksumIsRefused) {
  const std::string path = tree_.Write("bin/p.debug", debug_.Build());
  EXPECT_EQ(Find(ElfBuilder().DebugLink("p.debug", Checksum(path) + 1)), "");
}

TEST_F(DebugFilesTest, TheChecksumIsTheOneOfDebugLinks) {
  EXPECT_EQ(Checksum(tree_.Write("text", "123456789")), 0xcbf43926U);
}

TEST_F(DebugFilesTest, TheContainersOwnDebugFilesAreFoundThroughItsRoot) {
  const std::string path =
      tree_.Write("root" + (tree_ / kBuildIdPath), debug_.BuildId(kBuildId).Build());
  EXPECT_EQ(Find(ElfBuilder().BuildId(kBuildId)), path);
}

TEST_F(DebugFilesTest, SymbolsAndInlinesOfTheDebugFileServeTheStrippedOne) {
  // The stripped file was prelinked to other addresses after its debug file was made.
  tree_.Write(
      kBuildIdPath,
      ElfBuilder(0x1000).Function("hidden", 0x200, 0x100).BuildId(kBuildId).Inlines().Build());
  const ElfBuilder stripped = ElfBuilder(0x7000).BuildId(kBuildId).Dynamic("exported", 0x300, 0x10);
  auto opened = OpenRegularFile(tree_.Write("bin/program", stripped.Build()));
  ASSERT_TRUE(opened.has_value());
  LoadOptions options;
  options.debug_info_limit = 1 << 20;
  options.places = Places();
  auto module = ElfModule::Load(std::move(opened->fd), options);
  ASSERT_TRUE(module.has_value());
  const auto names = module->Find(0x235);
  ASSERT_EQ(names.size(), 3U);
  EXPECT_EQ(names[0].text, "hidden");
  EXPECT_EQ(names[1].text, "middle(int)");
  EXPECT_TRUE(names[1].inlined);
  EXPECT_EQ(names[2].text, "inner()");
  ASSERT_EQ(module->Find(0x305).size(), 1U);
  EXPECT_EQ(module->Find(0x305)[0].text, "exported");
}

TEST_F(DebugFilesTest, DebugInformationOverTheLimitIsLeftOutAndSaid) {
  auto opened = OpenRegularFile(
      tree_.Write("p", ElfBuilder().Function("outer", 0x200, 0x100).Inlines().Build()));
  ASSERT_TRUE(opened.has_value());
  LoadOptions options;
  options.debug_info_limit = 100;
  const auto module = ElfModule::Load(std::move(opened->fd), options);
  ASSERT_TRUE(module.has_value());
  EXPECT_GT(module->debug_info_left_out(), 100U);
  EXPECT_EQ(module->debug_info_size(), 0U);
}

}  // namespace
}  // namespace offcpu::symbolize
