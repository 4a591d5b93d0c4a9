// SPDX-License-Identifier: MIT
#include "symbolize/elf_file.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "symbolize/elf_module.h"
#include "symbolize/open_file.h"
#include "tests/support/elf_builder.h"

namespace offcpu::symbolize {
namespace {

using testing::ElfBuilder;

UniqueFd FileOf(std::string_view bytes) {
  UniqueFd fd(::memfd_create("elf", MFD_CLOEXEC));
  EXPECT_TRUE(fd);
  EXPECT_EQ(::write(fd.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  return fd;
}

ElfFile Parse(const ElfBuilder& builder) {
  auto file = ElfFile::Open(FileOf(builder.Build()));
  EXPECT_TRUE(file.has_value());
  return *std::move(file);
}

std::string SymbolAt(const ElfFile& file, uint64_t address) {
  return file.ReadSymbols(SHT_SYMTAB).Find(address).value_or("");
}

TEST(ElfFileTest, PositionsBecomeAddressesThroughTheSegments) {
  const ElfFile file = Parse(ElfBuilder(0x400000));
  EXPECT_EQ(file.segments().AddressOf(0x200), 0x400200U);
  EXPECT_EQ(file.segments().AddressOf(0x3ff), 0x4003ffU);
  EXPECT_EQ(file.segments().AddressOf(0x400), std::nullopt);
  EXPECT_EQ(file.segments().AddressOf(0x1ff), std::nullopt);
  EXPECT_EQ(file.segments().AddressOf(~uint64_t{0}), std::nullopt);
}

TEST(ElfFileTest, ASymbolCoversItsSizeAndNoMore) {
  const ElfFile file = Parse(ElfBuilder().Function("a", 0x200, 0x10).Function("b", 0x220, 0x10));
  EXPECT_EQ(SymbolAt(file, 0x200), "a");
  EXPECT_EQ(SymbolAt(file, 0x20f), "a");
  EXPECT_EQ(SymbolAt(file, 0x210), "");
  EXPECT_EQ(SymbolAt(file, 0x22f), "b");
  EXPECT_EQ(SymbolAt(file, 0x230), "");
  EXPECT_EQ(SymbolAt(file, 0x1ff), "");
}

TEST(ElfFileTest, ASymbolWithoutSizeReachesTheNextOneOrTheEndOfItsSection) {
  const ElfFile file = Parse(ElfBuilder()
                                 .Function("start", 0x200, 0, STB_LOCAL, STT_NOTYPE)
                                 .Function("sized", 0x220, 0x10)
                                 .Function("inside", 0x228, 0, STB_LOCAL, STT_NOTYPE)
                                 .Function("last", 0x3f0, 0));
  EXPECT_EQ(SymbolAt(file, 0x21f), "start");
  EXPECT_EQ(SymbolAt(file, 0x22a), "sized");
  EXPECT_EQ(SymbolAt(file, 0x3ff), "last");
  EXPECT_EQ(SymbolAt(file, 0x400), "");
}

TEST(ElfFileTest, GlobalWinsOverWeakOverLocalAndFunctionsOverTheRest) {
  const ElfFile file = Parse(ElfBuilder()
                                 .Function("local", 0x200, 0x10, STB_LOCAL)
                                 .Function("weak", 0x200, 0x10, STB_WEAK)
                                 .Function("global", 0x200, 0x10)
                                 .Function("label", 0x200, 0x10, STB_GLOBAL, STT_NOTYPE)
                                 .Function("other", 0x220, 0x10, STB_LOCAL)
                                 .Function("alias", 0x220, 0x10, STB_WEAK)
                                 .Function("data", 0x240, 0x10, STB_GLOBAL, STT_OBJECT)
                                 .Function("chosen", 0x250, 0x10, STB_LOCAL, STT_GNU_IFUNC));
  EXPECT_EQ(SymbolAt(file, 0x200), "global");
  EXPECT_EQ(SymbolAt(file, 0x220), "alias");
  EXPECT_EQ(SymbolAt(file, 0x240), "");
  EXPECT_EQ(SymbolAt(file, 0x250), "chosen");
}

TEST(ElfFileTest, VersionsAreCutAndMappingMarksAreNoFunctions) {
  const ElfFile file = Parse(ElfBuilder()
                                 .Function("memcpy@@GLIBC_2.14", 0x200, 0x10)
                                 .Function("$x", 0x300, 0, STB_LOCAL, STT_NOTYPE));
  EXPECT_EQ(SymbolAt(file, 0x200), "memcpy");
  EXPECT_EQ(SymbolAt(file, 0x300), "");
}

TEST(ElfFileTest, AnInnerFunctionHidesOnlyItsOwnPartOfTheOuterOne) {
  const ElfFile file =
      Parse(ElfBuilder().Function("outer", 0x200, 0x40).Function("inner", 0x210, 0x10));
  EXPECT_EQ(SymbolAt(file, 0x20f), "outer");
  EXPECT_EQ(SymbolAt(file, 0x21f), "inner");
  EXPECT_EQ(SymbolAt(file, 0x220), "outer");
}

TEST(ElfFileTest, NamesOfALargeStringTableStayInTheFile) {
  ElfBuilder builder;
  const std::string filler(16'000, 'x');
  for (int i = 0; i < 70; ++i) builder.Function(filler, 0x200, 0, STB_LOCAL);
  const ElfFile file = Parse(builder.Function("far_away", 0x300, 0x10));
  const SymbolTable symbols = file.ReadSymbols(SHT_SYMTAB);
  EXPECT_EQ(symbols.Find(0x300), "far_away");
  EXPECT_LT(symbols.memory(), 64U << 10);
}

TEST(ElfFileTest, BuildIdAndDebugLinkAreRead) {
  const ElfFile file = Parse(ElfBuilder().BuildId("0123456789abcdef0123").DebugLink("x.debug", 77));
  EXPECT_EQ(file.BuildId(), "0123456789abcdef0123");
  ASSERT_TRUE(file.ReadDebugLink());
  EXPECT_EQ(file.ReadDebugLink()->name, "x.debug");
  EXPECT_EQ(file.ReadDebugLink()->crc, 77U);
  EXPECT_EQ(Parse(ElfBuilder()).BuildId(), "");
  EXPECT_FALSE(Parse(ElfBuilder()).ReadDebugLink());
  EXPECT_FALSE(Parse(ElfBuilder().DebugLink("../../etc/passwd", 0)).ReadDebugLink());
}

TEST(ElfFileTest, WhatIsNotElfIsAnError) {
  EXPECT_FALSE(ElfFile::Open(FileOf("")));
  EXPECT_FALSE(ElfFile::Open(FileOf("#!/bin/sh\n")));
  std::string other = ElfBuilder().Build();
  other[EI_DATA] = static_cast<char>(other[EI_DATA] ^ 3);  // the other byte order
  EXPECT_FALSE(ElfFile::Open(FileOf(other)));
}

// Everything there is to read, so that a sanitizer sees any step too far.
void ReadAll(std::string_view bytes) {
  LoadOptions options;
  options.debug_info_limit = 1 << 20;
  options.places = {"/nonexistent", "/nonexistent", "/nonexistent"};
  auto module = ElfModule::Load(FileOf(bytes), options);
  if (!module) return;
  for (uint64_t offset = ElfBuilder::kCodeOffset; offset < 0x400; offset += 8) {
    (void)module->Find(offset);
  }
  auto file = ElfFile::Open(FileOf(bytes));
  ASSERT_TRUE(file.has_value());
  (void)file->BuildId();
  (void)file->ReadDebugLink();
  (void)file->ReadSymbols(SHT_DYNSYM);
}

std::string Everything() {
  return ElfBuilder()
      .Function("_Z5outerv", 0x200, 0x100)
      .Function("tail", 0x300, 0)
      .Dynamic("exported", 0x340, 0x10)
      .BuildId("0123456789abcdef0123")
      .DebugLink("x.debug", 77)
      .Inlines()
      .Build();
}

TEST(ElfFileTest, AFileCutAtAnyLengthIsSurvived) {
  const std::string whole = Everything();
  for (size_t length = 0; length < whole.size(); ++length) ReadAll(whole.substr(0, length));
}

TEST(ElfFileTest, AFileWithAnyByteDamagedIsSurvived) {
  const std::string whole = Everything();
  for (size_t i = 0; i < whole.size(); ++i) {
    if (i >= ElfBuilder::kCodeOffset && i < 0x400) continue;  // code is never looked at
    for (const unsigned change : {0x01U, 0x80U, 0xffU}) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(static_cast<unsigned char>(damaged[i]) ^ change);
      ReadAll(damaged);
    }
  }
}

TEST(ElfFileTest, SizesBeyondAllReasonAreSurvived) {
  const std::string whole = Everything();
  Elf64_Ehdr header;
  std::memcpy(&header, whole.data(), sizeof(header));
  for (size_t i = 0; i < header.e_shnum; ++i) {
    const size_t at = header.e_shoff + i * sizeof(Elf64_Shdr);
    for (const uint64_t size : {uint64_t{1} << 20, uint64_t{1} << 40, ~uint64_t{0}}) {
      Elf64_Shdr section;
      std::memcpy(&section, whole.data() + at, sizeof(section));
      std::string damaged = whole;
      section.sh_size = size;
      std::memcpy(damaged.data() + at, &section, sizeof(section));
      ReadAll(damaged);
      section.sh_offset = ~uint64_t{0} - 8;
      std::memcpy(damaged.data() + at, &section, sizeof(section));
      ReadAll(damaged);
    }
  }
}

TEST(ElfFileTest, AHugeSparseFileTakesNoMemory) {
  const std::string whole = Everything();
  Elf64_Ehdr header;
  std::memcpy(&header, whole.data(), sizeof(header));
  for (size_t i = 1; i < header.e_shnum; ++i) {
    std::string damaged = whole;
    const size_t at = header.e_shoff + i * sizeof(Elf64_Shdr);
    Elf64_Shdr section;
    std::memcpy(&section, whole.data() + at, sizeof(section));
    section.sh_size = uint64_t{1} << 38;  // and the file does have that many bytes
    std::memcpy(damaged.data() + at, &section, sizeof(section));
    UniqueFd fd = FileOf(damaged);
    ASSERT_EQ(::ftruncate(fd.get(), off_t{1} << 39), 0);
    LoadOptions options;
    options.debug_info_limit = 1 << 20;
    auto module = ElfModule::Load(std::move(fd), options);
    if (module) (void)module->Find(0x210);
  }
}

}  // namespace
}  // namespace offcpu::symbolize
