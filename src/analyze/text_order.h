// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace offcpu::analyze {

// Whether `a` comes before `b` by UTF-16 code units: the order of their bytes, but for characters
// from U+10000 on, which sort before U+E000 to U+FFFF.
inline bool Utf16Less(std::string_view a, std::string_view b) {
  size_t i = 0;
  while (i < a.size() && i < b.size() && a[i] == b[i]) ++i;
  if (i == a.size() || i == b.size()) return a.size() < b.size();
  // Two characters differ first in their leading bytes, unless these are equal and order is the
  // same.
  const auto key = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0xf0) return byte - 2;                     // U+10000 and more
    if (byte == 0xee || byte == 0xef) return byte + 0x10;  // U+E000 to U+FFFF
    return static_cast<int>(byte);
  };
  return key(a[i]) < key(b[i]);
}

}  // namespace offcpu::analyze
