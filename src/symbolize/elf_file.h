// SPDX-License-Identifier: MIT
#pragma once

#include <libelf.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "symbolize/symbol_table.h"

namespace offcpu::symbolize {

// What a file says that goes with a stripped one.
struct DebugLink {
  std::string name;  // no directory in it
  uint32_t crc = 0;
};

// The executable segments of a file: from positions in it to the addresses its symbols have.
class Segments {
 public:
  void Add(uint64_t offset, uint64_t size, uint64_t address) {
    segments_.push_back({offset, size, address});
  }
  std::optional<uint64_t> AddressOf(uint64_t file_offset) const;

 private:
  struct Segment {
    uint64_t offset;
    uint64_t size;
    uint64_t address;
  };
  std::vector<Segment> segments_;
};

// An ELF file of this machine's byte order, read piece by piece (not mapped: another process may
// shorten it at any time). Sizes and positions in it are checked against the file's size.
class ElfFile {
 public:
  static Result<ElfFile> Open(UniqueFd fd);

  const Segments& segments() const { return segments_; }
  // How much higher this file's addresses are than those of `other`, made from the same objects.
  uint64_t BiasTo(const ElfFile& other) const { return first_address_ - other.first_address_; }

  std::string BuildId() const;  // raw bytes; empty: none
  std::optional<DebugLink> ReadDebugLink() const;

  // The functions of the first section of type SHT_SYMTAB or SHT_DYNSYM; empty when there is none.
  SymbolTable ReadSymbols(uint32_t section_type) const;

  // Bytes that libdw will hold for this file, sections decompressed; 0: no usable debug
  // information.
  uint64_t DebugInfoSize() const;

  Elf* elf() const { return elf_.get(); }
  int fd() const { return fd_.get(); }

 private:
  struct Section {
    std::string name;
    uint32_t type;
    uint64_t flags;
    uint64_t address;
    uint64_t offset;
    uint64_t size;
    uint32_t link;
  };
  struct EndElf {
    void operator()(Elf* elf) const { elf_end(elf); }
  };

  ElfFile() = default;
  Result<void> ReadHeaders();
  void ReadSegments();
  void ReadSections();
  const Section* FindSection(std::string_view name) const;
  bool InFile(const Section& section) const;
  uint64_t UncompressedSize(const Section& section) const;
  template <class ElfSym>
  std::vector<Symbol> ReadFunctions(const Section& table) const;
  template <class ElfSym>
  std::optional<Symbol> ToFunction(const ElfSym& entry) const;
  NameStore ReadNames(const Section& strings) const;

  UniqueFd fd_;
  std::unique_ptr<Elf, EndElf> elf_;
  uint64_t file_size_ = 0;
  uint64_t first_address_ = 0;
  int machine_ = 0;
  bool is_64_bit_ = true;
  bool large_note_segment_ = false;
  bool notes_readable_ = false;
  Segments segments_;
  std::vector<Section> sections_;
};

}  // namespace offcpu::symbolize
