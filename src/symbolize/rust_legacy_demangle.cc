// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "base/parse.h"
#include "symbolize/rust_demangle.h"

namespace offcpu::symbolize {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHexDigit(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f'); }

struct Escape {
  std::string_view name;
  std::string_view text;
};
constexpr std::array<Escape, 8> kEscapes{{{"SP", "@"},
                                          {"BP", "*"},
                                          {"RF", "&"},
                                          {"LT", "<"},
                                          {"GT", ">"},
                                          {"LP", "("},
                                          {"RP", ")"},
                                          {"C", ","}}};

std::string Utf8(uint32_t code) {
  const auto tail = [code](int shift) { return static_cast<char>(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xc0 | code >> 6), tail(0)};
  if (code < 0x10000) return {static_cast<char>(0xe0 | code >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xf0 | code >> 18), tail(12), tail(6), tail(0)};
}

bool IsPrintable(uint32_t code) {
  const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return !control && !surrogate && code < 0x110000;
}

// The text of "$name$"; empty when it is no escape.
std::string UnescapeLegacy(std::string_view name) {
  for (const Escape& escape : kEscapes) {
    if (escape.name == name) return std::string(escape.text);
  }
  uint32_t code = 0;  // as in "u7e"
  if (name.starts_with('u') && ParseNumber(name.substr(1), &code, 16) && IsPrintable(code)) {
    return Utf8(code);
  }
  return {};
}

void AppendLegacyPart(std::string* out, std::string_view part) {
  if (part.starts_with("_$")) part.remove_prefix(1);
  while (!part.empty()) {
    if (part.starts_with("..")) {
      out->append("::");
      part.remove_prefix(2);
      continue;
    }
    const size_t end = part[0] == '$' ? part.find('$', 1) : std::string_view::npos;
    const std::string text =
        end == std::string_view::npos ? std::string() : UnescapeLegacy(part.substr(1, end - 1));
    out->append(text.empty() ? std::string(1, part[0]) : text);
    part.remove_prefix(text.empty() ? 1 : end + 1);
  }
}

bool IsLegacyHash(std::string_view part) {
  return part.size() == 17 && part[0] == 'h' &&
         std::all_of(part.begin() + 1, part.end(), IsHexDigit);
}

}  // namespace

std::optional<std::string> DemangleRustLegacy(std::string_view symbol) {
  if (!symbol.starts_with("_ZN")) return std::nullopt;
  symbol.remove_prefix(3);
  std::string out;
  while (!symbol.empty() && IsDigit(symbol[0])) {
    size_t length = 0;
    const char* end = symbol.data() + symbol.size();
    const auto [stop, error] = std::from_chars(symbol.data(), end, length);
    if (error != std::errc() || length > static_cast<size_t>(end - stop)) return std::nullopt;
    const std::string_view part(stop, length);
    symbol = symbol.substr(static_cast<size_t>(stop - symbol.data()) + length);
    if (symbol == "E")
      return IsLegacyHash(part) && !out.empty() ? std::optional(out) : std::nullopt;
    if (!out.empty()) out.append("::");
    AppendLegacyPart(&out, part);
  }
  return std::nullopt;
}

}  // namespace offcpu::symbolize
