// SPDX-License-Identifier: MIT
#include "symbolize/dwarf_inlines.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "tests/support/elf_builder.h"

namespace offcpu::symbolize {
namespace {

using testing::ElfBuilder;

std::unique_ptr<DwarfInlines> OpenInlines(const std::string& bytes) {
  UniqueFd fd(::memfd_create("elf", MFD_CLOEXEC));
  EXPECT_EQ(::write(fd.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  auto file = ElfFile::Open(std::move(fd));
  EXPECT_TRUE(file.has_value());
  EXPECT_GT(file->DebugInfoSize(), 0U);
  return DwarfInlines::Open(*std::move(file), [](const std::string&, const std::string&) {
    return std::optional<ElfFile>();
  });
}

TEST(DwarfInlinesTest, InlinedFunctionsComeOutermostFirst) {
  const auto inlines = OpenInlines(ElfBuilder().Inlines().Build());
  ASSERT_NE(inlines, nullptr);
  EXPECT_EQ(inlines->Find(0x235).function, "outer");
  EXPECT_EQ(inlines->Find(0x235).inlined, (std::vector<std::string>{"_Z6middlei", "_Z5innerv"}));
  EXPECT_EQ(inlines->Find(0x225).inlined, (std::vector<std::string>{"_Z6middlei"}));
  EXPECT_EQ(inlines->Find(0x240).inlined, (std::vector<std::string>{"_Z6middlei"}));
  EXPECT_TRUE(inlines->Find(0x260).inlined.empty());
  EXPECT_EQ(inlines->Find(0x260).function, "outer");
}

TEST(DwarfInlinesTest, AddressesOfNoFunctionHaveNoNames) {
  const auto inlines = OpenInlines(ElfBuilder().Inlines().Build());
  ASSERT_NE(inlines, nullptr);
  for (const uint64_t address : {uint64_t{0}, uint64_t{0x1ff}, uint64_t{0x300}, ~uint64_t{0}}) {
    EXPECT_EQ(inlines->Find(address).function, "");
    EXPECT_TRUE(inlines->Find(address).inlined.empty());
  }
}

TEST(DwarfInlinesTest, AFileSharedWithOthersThatIsMissingMeansNoInlines) {
  const std::string link = std::string("/dev/stdin") + '\0' + std::string(20, 'i');
  EXPECT_EQ(OpenInlines(
                ElfBuilder().Inlines().AddSection(".gnu_debugaltlink", SHT_PROGBITS, link).Build()),
            nullptr);
}

}  // namespace
}  // namespace offcpu::symbolize
