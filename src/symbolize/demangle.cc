// SPDX-License-Identifier: MIT
#include "symbolize/demangle.h"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <memory>
#include <optional>

#include "symbolize/rust_demangle.h"

namespace offcpu::symbolize {
namespace {

constexpr size_t kMaxMangled = 16384;
constexpr size_t kMaxDemangled = 16384;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool AllDigits(std::string_view text) { return std::all_of(text.begin(), text.end(), IsDigit); }

struct Suffix {
  std::string_view name;
  bool needs_number;
};
constexpr std::array<Suffix, 8> kSuffixes{{{"llvm", true},
                                           {"part", true},
                                           {"cold", false},
                                           {"isra", true},
                                           {"constprop", true},
                                           {"__uniq", true},
                                           {"lto_priv", true},
                                           {"localalias", false}}};

bool IsSuffix(std::string_view word, bool has_number) {
  return std::any_of(kSuffixes.begin(), kSuffixes.end(), [&](const Suffix& suffix) {
    return suffix.name == word && (has_number || !suffix.needs_number);
  });
}

// Where the last known suffix of `symbol` begins; npos when it ends in none.
size_t FindSuffix(std::string_view symbol) {
  const size_t last = symbol.rfind('.');
  if (last == std::string_view::npos || last == 0) return std::string_view::npos;
  const std::string_view word = symbol.substr(last + 1);
  if (IsSuffix(word, false)) return last;
  if (word.empty() || !AllDigits(word)) return std::string_view::npos;
  const size_t before = symbol.rfind('.', last - 1);
  if (before == std::string_view::npos || before == 0) return std::string_view::npos;
  return IsSuffix(symbol.substr(before + 1, last - before - 1), true) ? before
                                                                      : std::string_view::npos;
}

// References to earlier parts of a C++ name ("S_", "S1A_", "T0_").
size_t CountReferences(std::string_view symbol) {
  size_t count = 0;
  for (size_t i = 0; i + 1 < symbol.size(); ++i) {
    if (symbol[i] != 'S' && symbol[i] != 'T') continue;
    size_t end = i + 1;
    while (end < symbol.size() &&
           (IsDigit(symbol[end]) || (symbol[end] >= 'A' && symbol[end] <= 'Z'))) {
      ++end;
    }
    if (end < symbol.size() && symbol[end] == '_') ++count;
  }
  return count;
}

// A reference repeats an earlier part, which may hold references: r of them multiply a name's
// length by up to 3^(r/3), and __cxa_demangle sets no limit (40 made 140 MB of 230 bytes). Names of
// real libraries stay far below this one.
bool ExpandsBeyondReason(std::string_view symbol) {
  constexpr double kLog2GrowthPerReference = 0.53;
  constexpr double kMaxLog2Length = 26;
  return static_cast<double>(std::bit_width(symbol.size())) +
             kLog2GrowthPerReference * static_cast<double>(CountReferences(symbol)) >
         kMaxLog2Length;
}

std::optional<std::string> DemangleCxx(std::string_view symbol) {
  if (ExpandsBeyondReason(symbol)) return std::nullopt;
  const std::string text(symbol);
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(text.c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0 || name == nullptr) return std::nullopt;
  return std::string(name.get());
}

std::optional<std::string> TryDemangle(std::string_view symbol) {
  if (symbol.size() > kMaxMangled) return std::nullopt;
  if (symbol.starts_with("_R")) return DemangleRustV0(symbol);
  if (!symbol.starts_with("_Z")) return std::nullopt;
  if (auto rust = DemangleRustLegacy(symbol)) return rust;
  return DemangleCxx(symbol);
}

}  // namespace

std::string_view CutCompilerSuffixes(std::string_view symbol) {
  for (size_t cut = FindSuffix(symbol); cut != std::string_view::npos; cut = FindSuffix(symbol)) {
    symbol = symbol.substr(0, cut);
  }
  return symbol;
}

std::string Demangle(std::string_view symbol) {
  const std::string_view cut = CutCompilerSuffixes(symbol);
  auto name = TryDemangle(cut);
  if (name && !name->empty() && name->size() <= kMaxDemangled) return *std::move(name);
  return std::string(cut);
}

}  // namespace offcpu::symbolize
