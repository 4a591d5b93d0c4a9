// SPDX-License-Identifier: MIT
#include "tests/support/elf_builder.h"

#include <dwarf.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace offcpu::testing {
namespace {

constexpr size_t kAlignment = 8;
constexpr uint64_t kCodeOffset = ElfBuilder::kCodeOffset;
constexpr uint64_t kCodeSize = ElfBuilder::kCodeSize;

std::string Text(std::string_view text) { return std::string(text) + '\0'; }
std::string Byte(unsigned value) { return {static_cast<char>(value)}; }
// All codes used here are below 128 or take two bytes.
std::string Uleb(unsigned value) {
  return value < 0x80 ? Byte(value) : Byte((value & 0x7f) | 0x80) + Byte(value >> 7);
}

void Pad(std::string* bytes, size_t size) {
  if (bytes->size() < size) bytes->resize(size, '\0');
}

struct Form {
  unsigned attribute;
  unsigned form;
};
std::string Abbreviation(unsigned code, unsigned tag, bool children, std::vector<Form> forms) {
  std::string bytes = Uleb(code) + Uleb(tag) + Byte(children ? DW_CHILDREN_yes : DW_CHILDREN_no);
  for (const Form& form : forms) bytes += Uleb(form.attribute) + Uleb(form.form);
  return bytes + Uleb(0) + Uleb(0);
}

constexpr Form kLow{DW_AT_low_pc, DW_FORM_addr};
constexpr Form kHigh{DW_AT_high_pc, DW_FORM_data8};

std::string Abbreviations() {
  return Abbreviation(1, DW_TAG_compile_unit, true, {{DW_AT_name, DW_FORM_string}, kLow, kHigh}) +
         Abbreviation(2, DW_TAG_subprogram, false,
                      {{DW_AT_name, DW_FORM_string}, {DW_AT_linkage_name, DW_FORM_string}}) +
         Abbreviation(3, DW_TAG_subprogram, true, {{DW_AT_name, DW_FORM_string}, kLow, kHigh}) +
         Abbreviation(4, DW_TAG_lexical_block, true, {kLow, kHigh}) +
         Abbreviation(5, DW_TAG_inlined_subroutine, true,
                      {{DW_AT_abstract_origin, DW_FORM_ref4}, kLow, kHigh}) +
         Uleb(0);
}

std::string Span(uint64_t begin, uint64_t end) { return RawBytes(begin) + RawBytes(end - begin); }

std::string Information(uint64_t base) {
  constexpr uint32_t kHeader = 11;  // length, version, abbreviations, size of an address
  std::string dies = Uleb(1) + Text("unit.cc") + Span(base + 0x200, base + 0x400);
  const auto inner = static_cast<uint32_t>(kHeader + dies.size());
  dies += Uleb(2) + Text("inner") + Text("_Z5innerv");
  const auto middle = static_cast<uint32_t>(kHeader + dies.size());
  dies += Uleb(2) + Text("middle") + Text("_Z6middlei");
  dies += Uleb(3) + Text("outer") + Span(base + 0x200, base + 0x300);
  dies += Uleb(4) + Span(base + 0x210, base + 0x280);
  dies += Uleb(5) + RawBytes(middle) + Span(base + 0x220, base + 0x260);
  dies += Uleb(5) + RawBytes(inner) + Span(base + 0x230, base + 0x240);
  dies += std::string(5, '\0');  // the ends of five lists of children
  const uint16_t version = 4;
  const uint32_t abbreviations = 0;
  const std::string rest = RawBytes(version) + RawBytes(abbreviations) + Byte(8) + dies;
  return RawBytes(static_cast<uint32_t>(rest.size())) + rest;
}

// The ELF header and the one segment, for sections whose headers follow at the end of `file`.
void WriteHeaders(uint64_t base, size_t sections, std::string* file) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = base == 0 ? ET_DYN : ET_EXEC;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_phoff = sizeof(Elf64_Ehdr);
  header.e_shoff = file->size();
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<uint16_t>(sections);
  header.e_shstrndx = static_cast<uint16_t>(sections - 1);
  Elf64_Phdr segment{};
  segment.p_type = PT_LOAD;
  segment.p_flags = PF_R | PF_X;
  segment.p_offset = kCodeOffset;
  segment.p_vaddr = base + kCodeOffset;
  segment.p_filesz = segment.p_memsz = kCodeSize;
  segment.p_align = 0x1000;
  std::memcpy(file->data(), &header, sizeof(header));
  std::memcpy(file->data() + sizeof(header), &segment, sizeof(segment));
}

}  // namespace

ElfBuilder& ElfBuilder::AddSection(std::string name, uint32_t type, std::string bytes,
                                   uint64_t flags, uint32_t link) {
  sections_.push_back({std::move(name), type, std::move(bytes), flags, link});
  return *this;
}

ElfBuilder& ElfBuilder::AddSymbol(Symbols* table, std::string_view name, uint64_t address,
                                  uint64_t size, unsigned char bind, unsigned char type) {
  Elf64_Sym symbol{};
  symbol.st_name = static_cast<uint32_t>(table->names.size());
  symbol.st_info = static_cast<unsigned char>(ELF64_ST_INFO(bind, type));
  symbol.st_shndx = kCodeSection;
  symbol.st_value = base_ + address;
  symbol.st_size = size;
  table->entries += RawBytes(symbol);
  table->names += Text(name);
  return *this;
}

ElfBuilder& ElfBuilder::BuildId(std::string_view id) {
  const Elf64_Nhdr header{4, static_cast<uint32_t>(id.size()), NT_GNU_BUILD_ID};
  return AddSection(".note.gnu.build-id", SHT_NOTE,
                    RawBytes(header) + Text("GNU") + std::string(id), SHF_ALLOC);
}

ElfBuilder& ElfBuilder::DebugLink(std::string name, uint32_t crc) {
  std::string bytes = Text(name);
  Pad(&bytes, (bytes.size() + 3) / 4 * 4);
  return AddSection(".gnu_debuglink", SHT_PROGBITS, bytes + RawBytes(crc));
}

ElfBuilder& ElfBuilder::Inlines() {
  AddSection(".debug_abbrev", SHT_PROGBITS, Abbreviations());
  return AddSection(".debug_info", SHT_PROGBITS, Information(base_));
}

std::string ElfBuilder::Build() const {
  std::vector<Section> sections = sections_;
  const auto add_symbols = [&](const Symbols& symbols, std::string name, uint32_t type,
                               std::string strings) {
    if (symbols.entries.size() == sizeof(Elf64_Sym)) return;
    const auto link = static_cast<uint32_t>(sections.size() + 1);
    sections.push_back({std::move(name), type, symbols.entries, 0, link});
    sections.push_back({std::move(strings), SHT_STRTAB, symbols.names, 0, 0});
  };
  add_symbols(symbols_, ".symtab", SHT_SYMTAB, ".strtab");
  add_symbols(dynamic_, ".dynsym", SHT_DYNSYM, ".dynstr");
  sections.push_back({".shstrtab", SHT_STRTAB, "", 0, 0});
  std::string& section_names = sections.back().bytes;
  std::vector<Elf64_Shdr> headers(sections.size());
  for (size_t i = 0; i < sections.size(); ++i) {
    headers[i].sh_name = static_cast<uint32_t>(section_names.size());
    section_names += Text(sections[i].name);
  }

  std::string file(sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr), '\0');
  Pad(&file, kCodeOffset);
  for (size_t i = 1; i < sections.size(); ++i) {
    Pad(&file, (file.size() + kAlignment - 1) / kAlignment * kAlignment);
    headers[i].sh_type = sections[i].type;
    headers[i].sh_flags = sections[i].flags;
    headers[i].sh_addr = (sections[i].flags & SHF_ALLOC) != 0 ? base_ + file.size() : 0;
    headers[i].sh_offset = file.size();
    headers[i].sh_size = sections[i].bytes.size();
    headers[i].sh_link = sections[i].link;
    headers[i].sh_addralign = sections[i].type == SHT_NOTE ? 4 : 1;
    const bool symbols = sections[i].type == SHT_SYMTAB || sections[i].type == SHT_DYNSYM;
    headers[i].sh_entsize = symbols ? sizeof(Elf64_Sym) : 0;
    file += sections[i].bytes;
  }
  Pad(&file, (file.size() + kAlignment - 1) / kAlignment * kAlignment);

  WriteHeaders(base_, headers.size(), &file);
  for (const Elf64_Shdr& section : headers) file += RawBytes(section);
  return file;
}

}  // namespace offcpu::testing
