// SPDX-License-Identifier: MIT
#include "symbolize/elf_module.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <iterator>
#include <utility>

#include "symbolize/demangle.h"

namespace offcpu::symbolize {

Result<ElfModule> ElfModule::Load(UniqueFd fd, const LoadOptions& options) {
  UniqueFd code(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
  auto file = ElfFile::Open(std::move(fd));
  if (!file) return file.error();
  ElfModule module;
  module.segments_ = file->segments();
  module.AddTable(file->ReadSymbols(SHT_SYMTAB), 0);
  const bool has_symbols = !module.tables_.empty();
  const bool has_debug_info = file->DebugInfoSize() > 0;

  std::optional<DebugFile> debug;
  if (!has_symbols || (options.inlines && !has_debug_info)) {
    debug = FindDebugFile(*file, options.places);
  }
  const uint64_t debug_bias = debug ? debug->elf.BiasTo(*file) : 0;
  if (!has_symbols) {
    if (debug) module.AddTable(debug->elf.ReadSymbols(SHT_SYMTAB), debug_bias);
    module.AddTable(file->ReadSymbols(SHT_DYNSYM), 0);
  }
  if (!options.inlines) return module;
  if (has_debug_info) {
    module.OpenInlines(*std::move(file), options.places.module_directory + "/", options);
  } else if (debug) {
    module.inlines_bias_ = debug_bias;
    module.OpenInlines(std::move(debug->elf), debug->path, options);
  }
  if (module.inlines_ != nullptr) module.code_ = std::move(code);
  return module;
}

bool ElfModule::FollowsSystemCall(uint64_t file_offset) const {
  std::array<unsigned char, 4> code{};
  const auto at = static_cast<off_t>(file_offset) - static_cast<off_t>(code.size());
  if (!code_ || at < 0 || ::pread(code_.get(), code.data(), code.size(), at) != std::ssize(code)) {
    return false;
  }
#if defined(__x86_64__) || defined(__i386__)
  const int last = code[2] << 8 | code[3];
  return last == 0x0f05 || last == 0x0f34 || last == 0xcd80;  // syscall, sysenter, int 0x80
#elif defined(__aarch64__)
  return code == std::array<unsigned char, 4>{0x01, 0x00, 0x00, 0xd4};  // svc #0
#else
  return false;
#endif
}

void ElfModule::AddTable(SymbolTable symbols, uint64_t bias) {
  if (!symbols.empty()) tables_.push_back({std::move(symbols), bias});
}

void ElfModule::OpenInlines(ElfFile file, const std::string& path, const LoadOptions& options) {
  const uint64_t size = file.DebugInfoSize();
  if (size == 0) return;
  uint64_t left = options.debug_info_limit;
  if (size > left) {
    debug_info_left_out_ = size;
    return;
  }
  left -= size;
  inlines_ = DwarfInlines::Open(
      std::move(file),
      [&](const std::string& name, const std::string& build_id) -> std::optional<ElfFile> {
        auto shared = FindSharedDebugFile(path, name, build_id, options.places.debug_directory);
        if (!shared || shared->elf.DebugInfoSize() > left) return std::nullopt;
        left -= shared->elf.DebugInfoSize();
        return std::move(shared->elf);
      });
  if (inlines_ != nullptr) debug_info_size_ = options.debug_info_limit - left;
}

std::string ElfModule::FindSymbol(uint64_t address) const {
  for (const Table& table : tables_) {
    if (auto name = table.symbols.Find(address + table.bias)) return *std::move(name);
  }
  return {};
}

std::vector<ElfModule::Name> ElfModule::Find(uint64_t file_offset) {
  const auto address = segments_.AddressOf(file_offset);
  if (!address) return {};
  std::string function = FindSymbol(*address);
  DwarfInlines::Names from_dwarf;
  if (inlines_ != nullptr) from_dwarf = inlines_->Find(*address + inlines_bias_);
  if (function.empty()) function = from_dwarf.function;
  if (function.empty()) return {};

  std::vector<Name> names;
  names.push_back({Demangle(function), false});
  for (const std::string& inlined : from_dwarf.inlined) {
    if (!inlined.empty()) names.push_back({Demangle(inlined), true});
  }
  return names;
}

}  // namespace offcpu::symbolize
