// SPDX-License-Identifier: MIT
#include "symbolize/elf_file.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "symbolize/open_file.h"

namespace offcpu::symbolize {
namespace {

constexpr size_t kMaxSections = 1 << 17;
constexpr size_t kMaxSegments = 1 << 10;
constexpr uint64_t kMaxSymbolSection = 256U << 20;
constexpr size_t kMaxFunctions = 4U << 20;
constexpr uint64_t kMaxNamesInMemory = 1U << 20;
// libelf reads these as a whole, however large a damaged (or sparse) file says they are.
constexpr uint64_t kMaxSectionNames = 16U << 20;
constexpr uint64_t kMaxNote = 1U << 20;
constexpr uint64_t kMaxDebugLink = 1U << 16;

Error NotElf(std::string_view why) { return Failed("read ELF file: " + std::string(why)); }

// 0..2 by binding, 4 more for symbols without a type.
uint32_t RankOf(unsigned char info) {
  const unsigned binding = GELF_ST_BIND(info);
  const uint32_t rank = binding == STB_GLOBAL || binding == STB_GNU_UNIQUE ? 0
                        : binding == STB_WEAK                              ? 1
                                                                           : 2;
  return rank + (GELF_ST_TYPE(info) == STT_NOTYPE ? 4 : 0);
}

}  // namespace

Result<ElfFile> ElfFile::Open(UniqueFd fd) {
  if (elf_version(EV_CURRENT) == EV_NONE) return NotElf("libelf is too old");
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return SystemError("stat ELF file");
  ElfFile file;
  file.fd_ = std::move(fd);
  file.file_size_ = static_cast<uint64_t>(status.st_size);
  file.elf_.reset(elf_begin(file.fd_.get(), ELF_C_READ, nullptr));
  if (auto read = file.ReadHeaders(); !read) return read.error();
  return file;
}

Result<void> ElfFile::ReadHeaders() {
  if (elf_ == nullptr || elf_kind(elf_.get()) != ELF_K_ELF) return NotElf("it is not one");
  GElf_Ehdr header;
  if (gelf_getehdr(elf_.get(), &header) == nullptr) return NotElf("its header is damaged");
  const bool little = header.e_ident[EI_DATA] == ELFDATA2LSB;
  if (little != (std::endian::native == std::endian::little)) {
    return NotElf("its byte order is not this machine's");
  }
  machine_ = header.e_machine;
  is_64_bit_ = header.e_ident[EI_CLASS] == ELFCLASS64;
  ReadSegments();
  ReadSections();
  return {};
}

void ElfFile::ReadSegments() {
  size_t count = 0;
  if (elf_getphdrnum(elf_.get(), &count) != 0) return;
  bool first = true;
  for (size_t i = 0; i < std::min(count, kMaxSegments); ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf_.get(), static_cast<int>(i), &segment) == nullptr) return;
    if (segment.p_type == PT_NOTE && segment.p_filesz > kMaxNote) large_note_segment_ = true;
    if (segment.p_type != PT_LOAD) continue;
    if (first) first_address_ = segment.p_vaddr;
    first = false;
    if ((segment.p_flags & PF_X) == 0) continue;
    segments_.Add(segment.p_offset, segment.p_filesz, segment.p_vaddr);
  }
}

void ElfFile::ReadSections() {
  size_t count = 0;
  size_t names = 0;
  GElf_Shdr section;
  if (elf_getshdrnum(elf_.get(), &count) != 0 || count > kMaxSections ||
      elf_getshdrstrndx(elf_.get(), &names) != 0) {
    return;
  }
  if (count > 0 && (gelf_getshdr(elf_getscn(elf_.get(), names), &section) == nullptr ||
                    section.sh_size > kMaxSectionNames)) {
    return;
  }
  std::vector<Section> sections;
  sections.reserve(count);
  bool large_note = false;
  for (size_t i = 0; i < count; ++i) {
    if (gelf_getshdr(elf_getscn(elf_.get(), i), &section) == nullptr) return;
    if (section.sh_type == SHT_NOTE && section.sh_size > kMaxNote) large_note = true;
    const char* name = elf_strptr(elf_.get(), names, section.sh_name);
    sections.push_back({name == nullptr ? "" : name, section.sh_type, section.sh_flags,
                        section.sh_addr, section.sh_offset, section.sh_size, section.sh_link});
  }
  sections_ = std::move(sections);
  notes_readable_ = !large_note && !large_note_segment_;
}

std::optional<uint64_t> Segments::AddressOf(uint64_t file_offset) const {
  for (const Segment& segment : segments_) {
    if (file_offset >= segment.offset && file_offset - segment.offset < segment.size) {
      return segment.address + (file_offset - segment.offset);
    }
  }
  return std::nullopt;
}

std::string ElfFile::BuildId() const {
  constexpr ssize_t kMaxBuildId = 64;
  if (!notes_readable_) return {};
  const void* bytes = nullptr;
  const ssize_t size = dwelf_elf_gnu_build_id(elf_.get(), &bytes);
  if (size <= 0 || size > kMaxBuildId) return {};
  return {static_cast<const char*>(bytes), static_cast<size_t>(size)};
}

// A name, zeros up to a multiple of four, a checksum.
std::optional<DebugLink> ElfFile::ReadDebugLink() const {
  const Section* section = FindSection(".gnu_debuglink");
  if (section == nullptr || !InFile(*section) || section->size > kMaxDebugLink) return std::nullopt;
  std::string bytes(section->size, '\0');
  if (!ReadExactly(fd_.get(), bytes.data(), bytes.size(), section->offset)) return std::nullopt;
  const size_t length = bytes.find('\0');
  if (length == 0 || length == std::string::npos) return std::nullopt;
  DebugLink link{bytes.substr(0, length)};
  const size_t crc = (length + 4) / 4 * 4;
  if (crc + sizeof(link.crc) > bytes.size() || link.name.find('/') != std::string::npos) {
    return std::nullopt;
  }
  std::memcpy(&link.crc, bytes.data() + crc, sizeof(link.crc));
  return link;
}

const ElfFile::Section* ElfFile::FindSection(std::string_view name) const {
  const auto found = std::find_if(sections_.begin(), sections_.end(),
                                  [&](const Section& section) { return section.name == name; });
  return found == sections_.end() ? nullptr : &*found;
}

bool ElfFile::InFile(const Section& section) const {
  return section.type != SHT_NOBITS && (section.flags & SHF_COMPRESSED) == 0 &&
         section.offset <= file_size_ && section.size <= file_size_ - section.offset;
}

SymbolTable ElfFile::ReadSymbols(uint32_t section_type) const {
  const auto table = std::find_if(sections_.begin(), sections_.end(), [&](const Section& section) {
    return section.type == section_type;
  });
  if (table == sections_.end() || !InFile(*table) || table->size > kMaxSymbolSection) return {};
  if (table->link >= sections_.size() || sections_[table->link].type != SHT_STRTAB) return {};
  const Section& strings = sections_[table->link];
  if (!InFile(strings)) return {};

  std::vector<uint64_t> code_ends;
  for (const Section& section : sections_) {
    if ((section.flags & SHF_EXECINSTR) != 0) code_ends.push_back(section.address + section.size);
  }
  std::sort(code_ends.begin(), code_ends.end());
  auto functions = is_64_bit_ ? ReadFunctions<Elf64_Sym>(*table) : ReadFunctions<Elf32_Sym>(*table);
  return functions.empty() ? SymbolTable()
                           : SymbolTable(std::move(functions), ReadNames(strings), code_ends);
}

template <class ElfSym>
std::vector<Symbol> ElfFile::ReadFunctions(const Section& table) const {
  constexpr size_t kChunk = 2048;
  std::vector<Symbol> functions;
  std::vector<ElfSym> entries;
  const size_t count = table.size / sizeof(ElfSym);
  for (size_t done = 0; done < count; done += entries.size()) {
    entries.resize(std::min(kChunk, count - done));
    const uint64_t offset = table.offset + done * sizeof(ElfSym);
    if (!ReadExactly(fd_.get(), entries.data(), entries.size() * sizeof(ElfSym), offset)) break;
    for (const ElfSym& entry : entries) {
      if (functions.size() == kMaxFunctions) return functions;
      if (auto function = ToFunction(entry)) functions.push_back(*function);
    }
  }
  return functions;
}

template <class ElfSym>
std::optional<Symbol> ElfFile::ToFunction(const ElfSym& entry) const {
  const unsigned type = GELF_ST_TYPE(entry.st_info);
  const bool function = type == STT_FUNC || type == STT_GNU_IFUNC;
  if (!function && type != STT_NOTYPE) return std::nullopt;
  if (entry.st_shndx == SHN_UNDEF || entry.st_shndx == SHN_ABS || entry.st_name == 0) {
    return std::nullopt;
  }
  const bool in_code =
      entry.st_shndx < sections_.size() && (sections_[entry.st_shndx].flags & SHF_EXECINSTR) != 0;
  if (!function && !in_code) return std::nullopt;

  Symbol symbol;
  symbol.address = entry.st_value;
  if (machine_ == EM_ARM && function) symbol.address &= ~uint64_t{1};  // the mark of Thumb code
  symbol.name = entry.st_name;
  symbol.size =
      static_cast<uint32_t>(std::min<uint64_t>(entry.st_size, Symbol::kMaxSize)) & Symbol::kMaxSize;
  symbol.rank = RankOf(entry.st_info) & 7;
  return symbol;
}

NameStore ElfFile::ReadNames(const Section& strings) const {
  if (strings.size > kMaxNamesInMemory) {
    UniqueFd copy(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
    return copy ? NameStore(std::move(copy), strings.offset, strings.size) : NameStore();
  }
  std::string names(strings.size, '\0');
  if (!ReadExactly(fd_.get(), names.data(), names.size(), strings.offset)) return {};
  return NameStore(std::move(names));
}

uint64_t ElfFile::UncompressedSize(const Section& section) const {
  if (section.type == SHT_NOBITS) return 0;
  if ((section.flags & SHF_COMPRESSED) == 0) return section.size;
  const auto read_size = [&](auto header) -> uint64_t {
    return ReadExactly(fd_.get(), &header, sizeof(header), section.offset) ? header.ch_size : 0;
  };
  return is_64_bit_ ? read_size(Elf64_Chdr{}) : read_size(Elf32_Chdr{});
}

uint64_t ElfFile::DebugInfoSize() const {
  uint64_t total = 0;
  bool has_info = false;
  for (const Section& section : sections_) {
    if (section.name.starts_with(".zdebug")) return 0;  // the old way to compress: its size can lie
    if (section.name.find("debug") == std::string::npos) continue;
    const uint64_t size = UncompressedSize(section);
    if (section.name == ".debug_info" && size > 0) has_info = true;
    if (__builtin_add_overflow(total, size, &total)) return UINT64_MAX;
  }
  return has_info ? total : 0;
}

}  // namespace offcpu::symbolize
