// SPDX-License-Identifier: MIT
#pragma once

#include <elf.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace offcpu::testing {

// Makes small 64-bit ELF files of this machine's byte order: 512 bytes of code at file offset
// 0x200, linked to address `base` + 0x200.
class ElfBuilder {
 public:
  static constexpr uint64_t kCodeOffset = 0x200;
  static constexpr uint64_t kCodeSize = 0x200;
  static constexpr uint16_t kCodeSection = 1;

  explicit ElfBuilder(uint64_t base = 0) : base_(base) {
    AddSection(".text", SHT_PROGBITS, std::string(kCodeSize, '\xcc'), SHF_ALLOC | SHF_EXECINSTR);
  }

  // Of .symtab; `address` is relative to the base.
  ElfBuilder& Function(std::string_view name, uint64_t address, uint64_t size,
                       unsigned char bind = STB_GLOBAL, unsigned char type = STT_FUNC) {
    return AddSymbol(&symbols_, name, address, size, bind, type);
  }
  // Of .dynsym.
  ElfBuilder& Dynamic(std::string_view name, uint64_t address, uint64_t size) {
    return AddSymbol(&dynamic_, name, address, size, STB_GLOBAL, STT_FUNC);
  }
  ElfBuilder& BuildId(std::string_view id);
  ElfBuilder& DebugLink(std::string name, uint32_t crc);
  // Debug information of a function "outer" in [0x200, 0x300) into which "middle" was inlined at
  // [0x220, 0x260), and into that "inner" at [0x230, 0x240); addresses are relative to the base.
  ElfBuilder& Inlines();
  ElfBuilder& AddSection(std::string name, uint32_t type, std::string bytes, uint64_t flags = 0,
                         uint32_t link = 0);

  std::string Build() const;

 private:
  struct Section {
    std::string name;
    uint32_t type;
    std::string bytes;
    uint64_t flags;
    uint32_t link;
  };
  struct Symbols {
    std::string entries = std::string(sizeof(Elf64_Sym), '\0');
    std::string names = std::string(1, '\0');
  };

  ElfBuilder& AddSymbol(Symbols* table, std::string_view name, uint64_t address, uint64_t size,
                        unsigned char bind, unsigned char type);

  uint64_t base_;
  std::vector<Section> sections_{Section{"", SHT_NULL, "", 0, 0}};
  Symbols symbols_;
  Symbols dynamic_;
};

// The bytes of `value` as they lie in memory.
template <class T>
std::string RawBytes(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

}  // namespace offcpu::testing
