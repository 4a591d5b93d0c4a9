// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace offcpu::symbolize {

// One function. 16 bytes, since libraries have hundreds of thousands.
struct Symbol {
  static constexpr uint32_t kMaxSize = (1U << 29) - 1;

  uint64_t address = 0;
  uint32_t name = 0;       // position in the string table
  uint32_t size : 29 = 0;  // 0: not told
  uint32_t rank : 3 = 0;   // the lowest of several at one address gives the name
};

// Where names live: small string tables in memory, large ones stay in the file.
class NameStore {
 public:
  NameStore() = default;
  explicit NameStore(std::string names) : names_(std::move(names)), size_(names_.size()) {}
  NameStore(UniqueFd fd, uint64_t offset, uint64_t size)
      : fd_(std::move(fd)), offset_(offset), size_(size) {}

  // Empty when the position is outside, the name isn't terminated or is longer than 16 KiB.
  std::string Get(uint32_t position) const;
  size_t memory() const { return names_.capacity(); }

 private:
  std::string ReadFromFile(uint32_t position) const;

  std::string names_;
  UniqueFd fd_;
  uint64_t offset_ = 0;
  uint64_t size_ = 0;
};

// The functions of one symbol table, by address.
class SymbolTable {
 public:
  SymbolTable() = default;
  // `symbols` in any order. One without a size ends at the next symbol or at the end of its
  // section, whichever comes first; inside of a function with a size it is dropped.
  SymbolTable(std::vector<Symbol> symbols, NameStore names,
              const std::vector<uint64_t>& section_ends);

  // The name of the function at `address` as the table has it, but without "@VERSION".
  std::optional<std::string> Find(uint64_t address) const;
  bool empty() const { return symbols_.empty(); }
  size_t memory() const { return symbols_.capacity() * sizeof(Symbol) + names_.memory(); }

 private:
  std::vector<Symbol> symbols_;
  NameStore names_;
};

}  // namespace offcpu::symbolize
