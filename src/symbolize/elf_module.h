// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "symbolize/debug_files.h"
#include "symbolize/dwarf_inlines.h"
#include "symbolize/elf_file.h"
#include "symbolize/symbol_table.h"

namespace offcpu::symbolize {

struct LoadOptions {
  bool inlines = true;
  uint64_t debug_info_limit = 0;  // bytes of debug information that may be held for inlines
  DebugPlaces places;
};

// The names of one executable or library: its own symbol table, else that of its debug file beside
// the dynamic symbols. The file is closed after loading, unless names or inlines are read from it.
class ElfModule {
 public:
  // Takes over `fd`. An error when it isn't an ELF file of this machine.
  static Result<ElfModule> Load(UniqueFd fd, const LoadOptions& options);

  struct Name {
    std::string text;
    bool inlined = false;  // into the one before
  };
  // The functions that the byte at `file_offset` belongs to, demangled, outermost first; empty when
  // no function is known there.
  std::vector<Name> Find(uint64_t file_offset);

  // Whether the instruction before `file_offset` is a system call: then a thread that waits there
  // is in the call, not yet at the offset, which may be of another inlined function. Only asked of
  // the code where inlined functions are known; false otherwise.
  bool FollowsSystemCall(uint64_t file_offset) const;

  uint64_t debug_info_size() const { return debug_info_size_; }  // what is held
  uint64_t debug_info_left_out() const { return debug_info_left_out_; }

 private:
  struct Table {
    SymbolTable symbols;
    uint64_t bias = 0;  // its addresses are that much higher than those of the segments
  };

  ElfModule() = default;
  void AddTable(SymbolTable symbols, uint64_t bias);
  void OpenInlines(ElfFile file, const std::string& path, const LoadOptions& options);
  std::string FindSymbol(uint64_t address) const;

  Segments segments_;
  std::vector<Table> tables_;
  std::unique_ptr<DwarfInlines> inlines_;
  UniqueFd code_;  // the file itself, while there are inlines
  uint64_t inlines_bias_ = 0;
  uint64_t debug_info_size_ = 0;
  uint64_t debug_info_left_out_ = 0;
};

}  // namespace offcpu::symbolize
