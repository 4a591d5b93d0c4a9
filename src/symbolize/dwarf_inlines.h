// SPDX-License-Identifier: MIT
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "symbolize/elf_file.h"

namespace offcpu::symbolize {

// Which functions the compiler inlined where, from the debug information of one file. Units are
// listed when it is opened, the functions of a unit when an address in it is first asked for.
class DwarfInlines {
 public:
  // Finds the file that debug information shares with others (dwz), by its name and build-id.
  using SharedFinder =
      std::function<std::optional<ElfFile>(const std::string& name, const std::string& build_id)>;

  // Null when libdw can't read the debug information of `file`, or needs a shared file that
  // `find_shared` doesn't find: libdw must not open files by names that a stranger wrote.
  static std::unique_ptr<DwarfInlines> Open(ElfFile file, const SharedFinder& find_shared);

  struct Names {
    std::string function;              // the one that has code at the address; empty: not known
    std::vector<std::string> inlined;  // into it, then into one another; the last has the address
  };
  // Names are as in the debug information: linkage names where it has them. They may be empty.
  Names Find(uint64_t address);

 private:
  struct Range {
    uint64_t begin;
    uint64_t end;
    uint64_t target;  // position in units_, or of a function in .debug_info
  };
  struct Unit {
    uint64_t die;
    bool listed = false;
    std::vector<Range> functions;
  };
  struct EndDwarf {
    void operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }
  };
  using DwarfPtr = std::unique_ptr<Dwarf, EndDwarf>;

  explicit DwarfInlines(ElfFile file) : file_(std::move(file)) {}
  bool OpenShared(const SharedFinder& find_shared);
  void ListUnits();
  void ListFunctions(Dwarf_Die* parent, int depth, std::vector<Range>* functions);
  static void AddRanges(Dwarf_Die* die, uint64_t target, std::vector<Range>* ranges);
  static void SortRanges(std::vector<Range>* ranges);
  static const Range* FindRange(const std::vector<Range>& ranges, uint64_t address);
  static std::string NameOf(Dwarf_Die* die);

  ElfFile file_;
  std::optional<ElfFile> shared_file_;
  DwarfPtr shared_;
  DwarfPtr dwarf_;
  std::vector<Unit> units_;
  std::vector<Range> unit_ranges_;
};

}  // namespace offcpu::symbolize
