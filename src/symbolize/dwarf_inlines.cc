// SPDX-License-Identifier: MIT
#include "symbolize/dwarf_inlines.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <gelf.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace offcpu::symbolize {
namespace {

constexpr size_t kMaxUnits = 200'000;
constexpr size_t kMaxFunctions = 1'000'000;  // of one unit
constexpr int kMaxScopes = 64;               // namespaces, classes, blocks in one another

// Calls `visit` for each child of `parent` until it returns false. Children stand in the order of
// their offsets; a sibling attribute that points back would never end.
template <class Visit>
void ForEachChild(Dwarf_Die* parent, Visit visit) {
  Dwarf_Die child;
  if (dwarf_child(parent, &child) != 0) return;
  while (visit(&child)) {
    const Dwarf_Off offset = dwarf_dieoffset(&child);
    Dwarf_Die next;
    if (dwarf_siblingof(&child, &next) != 0 || dwarf_dieoffset(&next) <= offset) return;
    child = next;
  }
}

bool HoldsFunctions(int tag) {
  return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
         tag == DW_TAG_structure_type || tag == DW_TAG_union_type || tag == DW_TAG_enumeration_type;
}

bool IsScope(int tag) {
  return tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
         tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

// The bytes of .debug_info in the file that `attribute` stands in.
uint64_t DebugInfoSizeFor(const Dwarf_Attribute& attribute) {
  Elf* elf = dwarf_getelf(dwarf_cu_getdwarf(attribute.cu));
  size_t names = 0;
  if (elf == nullptr || elf_getshdrstrndx(elf, &names) != 0) return 0;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) return 0;
    const char* name = elf_strptr(elf, names, header.sh_name);
    if (name != nullptr && std::strcmp(name, ".debug_info") == 0) return header.sh_size;
  }
  return 0;
}

// A string inside of .debug_info; libdw does not look whether it ends there.
std::string_view InlineString(Dwarf_Attribute* attribute) {
  Dwarf_Half version = 0;
  uint8_t type = 0;
  Dwarf_Die unit;
  if (dwarf_cu_info(attribute->cu, &version, &type, &unit, nullptr, nullptr, nullptr, nullptr) !=
          0 ||
      type == DW_UT_type || unit.addr == nullptr) {
    return {};
  }
  const auto* begin = static_cast<const unsigned char*>(unit.addr) - dwarf_dieoffset(&unit);
  const auto* end = begin + DebugInfoSizeFor(*attribute);
  if (attribute->valp < begin || attribute->valp >= end) return {};
  const auto left = static_cast<size_t>(end - attribute->valp);
  if (std::memchr(attribute->valp, 0, left) == nullptr) return {};
  return reinterpret_cast<const char*>(attribute->valp);
}

std::string_view StringOf(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute attribute;
  if (dwarf_attr_integrate(die, name, &attribute) == nullptr) return {};
  if (dwarf_whatform(&attribute) == DW_FORM_string) return InlineString(&attribute);
  const char* text = dwarf_formstring(&attribute);
  return text == nullptr ? std::string_view() : std::string_view(text);
}

}  // namespace

std::unique_ptr<DwarfInlines> DwarfInlines::Open(ElfFile file, const SharedFinder& find_shared) {
  std::unique_ptr<DwarfInlines> inlines(new DwarfInlines(std::move(file)));
  inlines->dwarf_.reset(dwarf_begin_elf(inlines->file_.elf(), DWARF_C_READ, nullptr));
  if (inlines->dwarf_ == nullptr || !inlines->OpenShared(find_shared)) return nullptr;
  inlines->ListUnits();
  return inlines;
}

bool DwarfInlines::OpenShared(const SharedFinder& find_shared) {
  const char* name = nullptr;
  const void* id = nullptr;
  const ssize_t id_size = dwelf_dwarf_gnu_debugaltlink(dwarf_.get(), &name, &id);
  if (id_size == 0) return true;
  if (id_size < 0 || name == nullptr) return false;
  shared_file_ =
      find_shared(name, std::string(static_cast<const char*>(id), static_cast<size_t>(id_size)));
  if (!shared_file_) return false;
  shared_.reset(dwarf_begin_elf(shared_file_->elf(), DWARF_C_READ, nullptr));
  if (shared_ == nullptr) return false;
  dwarf_setalt(dwarf_.get(), shared_.get());
  return true;
}

void DwarfInlines::ListUnits() {
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  while (units_.size() < kMaxUnits &&
         dwarf_get_units(dwarf_.get(), unit, &unit, nullptr, nullptr, &die, nullptr) == 0) {
    if (die.addr == nullptr || dwarf_tag(&die) != DW_TAG_compile_unit) continue;
    AddRanges(&die, units_.size(), &unit_ranges_);
    units_.push_back({.die = dwarf_dieoffset(&die), .functions = {}});
  }
  SortRanges(&unit_ranges_);
}

void DwarfInlines::AddRanges(Dwarf_Die* die, uint64_t target, std::vector<Range>* ranges) {
  constexpr int kMaxRanges = 100'000;
  Dwarf_Addr base = 0;
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  ptrdiff_t offset = 0;
  for (int i = 0; i < kMaxRanges; ++i) {
    offset = dwarf_ranges(die, offset, &base, &begin, &end);
    if (offset <= 0) return;
    // The linker leaves address 0 to code that it dropped.
    if (begin != 0 && begin < end) ranges->push_back({begin, end, target});
  }
}

void DwarfInlines::SortRanges(std::vector<Range>* ranges) {
  std::sort(ranges->begin(), ranges->end(), [](const Range& a, const Range& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.target < b.target;
  });
  ranges->shrink_to_fit();
}

const DwarfInlines::Range* DwarfInlines::FindRange(const std::vector<Range>& ranges,
                                                   uint64_t address) {
  constexpr int kMaxOverlaps = 8;
  auto next =
      std::upper_bound(ranges.begin(), ranges.end(), address,
                       [](uint64_t value, const Range& range) { return value < range.begin; });
  for (int i = 0; i < kMaxOverlaps && next != ranges.begin(); ++i) {
    --next;
    if (address < next->end) return &*next;
  }
  return nullptr;
}

void DwarfInlines::ListFunctions(Dwarf_Die* parent, int depth, std::vector<Range>* functions) {
  if (depth > kMaxScopes) return;
  ForEachChild(parent, [&](Dwarf_Die* child) {
    const int tag = dwarf_tag(child);
    if (tag == DW_TAG_subprogram) AddRanges(child, dwarf_dieoffset(child), functions);
    if (HoldsFunctions(tag)) ListFunctions(child, depth + 1, functions);
    return functions->size() < kMaxFunctions;
  });
}

std::string DwarfInlines::NameOf(Dwarf_Die* die) {
  for (const unsigned attribute : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name}) {
    if (const std::string_view name = StringOf(die, attribute); !name.empty()) {
      return std::string(name);
    }
  }
  return {};
}

DwarfInlines::Names DwarfInlines::Find(uint64_t address) {
  Names names;
  const Range* unit_range = FindRange(unit_ranges_, address);
  if (unit_range == nullptr) return names;
  Unit& unit = units_[unit_range->target];
  Dwarf_Die die;
  if (!unit.listed) {
    unit.listed = true;
    if (dwarf_offdie(dwarf_.get(), unit.die, &die) != nullptr) {
      ListFunctions(&die, 0, &unit.functions);
      SortRanges(&unit.functions);
    }
  }
  const Range* function = FindRange(unit.functions, address);
  if (function == nullptr || dwarf_offdie(dwarf_.get(), function->target, &die) == nullptr) {
    return names;
  }
  names.function = NameOf(&die);
  for (int depth = 0; depth < kMaxScopes; ++depth) {
    bool deeper = false;
    ForEachChild(&die, [&](Dwarf_Die* child) {
      if (!IsScope(dwarf_tag(child)) || dwarf_haspc(child, address) != 1) return true;
      if (dwarf_tag(child) == DW_TAG_inlined_subroutine) names.inlined.push_back(NameOf(child));
      die = *child;
      deeper = true;
      return false;
    });
    if (!deeper) break;
  }
  return names;
}

}  // namespace offcpu::symbolize
