// SPDX-License-Identifier: MIT
#include "output/xml_text.h"

#include <cstdint>

namespace offcpu::output {
namespace {

struct Decoded {
  uint32_t code = 0;
  size_t size = 0;  // 0: no character begins here
};

// One UTF-8 character; overlong forms, surrogates and codes above U+10FFFF are none.
Decoded Decode(std::string_view text) {
  const auto lead = static_cast<uint8_t>(text[0]);
  if (lead < 0x80) return {lead, 1};
  const size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return {};
  uint32_t code = lead & (0x7fU >> size);
  for (size_t i = 1; i < size; ++i) {
    const auto next = static_cast<uint8_t>(text[i]);
    if ((next & 0xc0U) != 0x80) return {};
    code = code << 6 | (next & 0x3fU);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kSmallest[size] || code > 0x10ffff || surrogate) return {};
  return {code, size};
}

bool IsVisible(uint32_t code) {
  const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  const bool not_a_character = (code & 0xfffeU) == 0xfffe || (code >= 0xfdd0 && code <= 0xfdef);
  return !control && !not_a_character;
}

size_t CellsOf(uint32_t code) { return code < 0x1100 ? 1 : 2; }

}  // namespace

std::string VisibleText(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const Decoded next = Decode(bytes);
    if (next.size != 0 && IsVisible(next.code)) {
      text.append(bytes.substr(0, next.size));
      bytes.remove_prefix(next.size);
      continue;
    }
    for (size_t i = 0; i < (next.size == 0 ? 1 : next.size); ++i) {
      const auto byte = static_cast<uint8_t>(bytes[i]);
      text.append({'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]});
    }
    bytes.remove_prefix(next.size == 0 ? 1 : next.size);
  }
  return text;
}

void AppendXml(std::string* out, std::string_view visible) {
  for (const char c : visible) {
    switch (c) {
      case '&': out->append("&amp;"); break;
      case '<': out->append("&lt;"); break;
      case '>': out->append("&gt;"); break;
      case '"': out->append("&quot;"); break;
      case '\'': out->append("&#39;"); break;
      default: out->push_back(c);
    }
  }
}

std::string ClipToCells(std::string_view visible, size_t cells) {
  if (cells < 3) return {};
  size_t used = 0;
  size_t keep = 0;  // bytes that leave two cells for the dots
  for (size_t at = 0; at < visible.size();) {
    const Decoded next = Decode(visible.substr(at));
    used += CellsOf(next.code);
    if (used > cells) return std::string(visible.substr(0, keep)) + "..";
    at += next.size == 0 ? 1 : next.size;
    if (used + 2 <= cells) keep = at;
  }
  return std::string(visible);
}

}  // namespace offcpu::output
