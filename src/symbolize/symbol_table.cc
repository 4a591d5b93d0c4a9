// SPDX-License-Identifier: MIT
#include "symbolize/symbol_table.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>

#include "symbolize/open_file.h"

namespace offcpu::symbolize {
namespace {

constexpr size_t kMaxName = 16384;

// Labels inside of functions: mapping symbols of ARM and RISC-V, and local labels.
bool IsLabel(std::string_view name) { return name.starts_with('$') || name.starts_with(".L"); }

// How far a symbol without a size may reach.
uint32_t SizeUpTo(uint64_t address, uint64_t next, const std::vector<uint64_t>& section_ends) {
  const auto end = std::upper_bound(section_ends.begin(), section_ends.end(), address);
  if (end == section_ends.end()) return 0;
  return static_cast<uint32_t>(
      std::min<uint64_t>(std::min(*end, next) - address, Symbol::kMaxSize));
}

}  // namespace

std::string NameStore::Get(uint32_t position) const {
  if (position >= size_) return {};
  if (fd_) return ReadFromFile(position);
  const std::string_view rest = std::string_view(names_).substr(position, kMaxName);
  const size_t end = rest.find('\0');
  return end == std::string_view::npos ? std::string() : std::string(rest.substr(0, end));
}

std::string NameStore::ReadFromFile(uint32_t position) const {
  std::string name;
  std::array<char, 256> part;
  while (position < size_ && name.size() < kMaxName) {
    const size_t count = std::min<uint64_t>(part.size(), size_ - position);
    if (!ReadExactly(fd_.get(), part.data(), count, offset_ + position)) return {};
    const std::string_view text(part.data(), count);
    const size_t end = text.find('\0');
    name.append(text.substr(0, end));
    if (end != std::string_view::npos) return name;
    position += static_cast<uint32_t>(count);
  }
  return {};
}

SymbolTable::SymbolTable(std::vector<Symbol> symbols, NameStore names,
                         const std::vector<uint64_t>& section_ends)
    : symbols_(std::move(symbols)), names_(std::move(names)) {
  const auto key = [](const Symbol& symbol) {
    return std::make_tuple(symbol.address, symbol.size == 0, static_cast<uint32_t>(symbol.rank),
                           symbol.name);
  };
  std::sort(symbols_.begin(), symbols_.end(),
            [&](const Symbol& a, const Symbol& b) { return key(a) < key(b); });
  const auto same_address = [](const Symbol& a, const Symbol& b) { return a.address == b.address; };
  symbols_.erase(std::unique(symbols_.begin(), symbols_.end(), same_address), symbols_.end());

  uint64_t covered = 0;  // up to here sized functions reach
  size_t kept = 0;
  for (size_t i = 0; i < symbols_.size(); ++i) {
    Symbol symbol = symbols_[i];
    if (symbol.size == 0) {
      if (symbol.address < covered) continue;
      const uint64_t next = i + 1 < symbols_.size() ? symbols_[i + 1].address : UINT64_MAX;
      symbol.size = SizeUpTo(symbol.address, next, section_ends) & Symbol::kMaxSize;
    } else {
      covered = std::max(covered, symbol.address + symbol.size);
    }
    symbols_[kept++] = symbol;
  }
  symbols_.resize(kept);
  symbols_.shrink_to_fit();
}

std::optional<std::string> SymbolTable::Find(uint64_t address) const {
  constexpr int kMaxNested = 16;  // functions that overlap are rare, and few
  auto next =
      std::upper_bound(symbols_.begin(), symbols_.end(), address,
                       [](uint64_t value, const Symbol& symbol) { return value < symbol.address; });
  for (int i = 0; i < kMaxNested && next != symbols_.begin(); ++i) {
    --next;
    if (address - next->address >= next->size) continue;
    std::string name = names_.Get(next->name);
    if (const size_t version = name.find('@'); version != 0 && version != std::string::npos) {
      name.resize(version);
    }
    if (name.empty() || IsLabel(name)) return std::nullopt;
    return name;
  }
  return std::nullopt;
}

}  // namespace offcpu::symbolize
