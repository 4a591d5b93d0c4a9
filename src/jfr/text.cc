// SPDX-License-Identifier: MIT
#include "jfr/text.h"

#include <algorithm>

namespace offcpu::jfr {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";
constexpr std::string_view kEllipsis = "\xe2\x80\xa6";

void AppendCodePoint(uint32_t code, std::string* out) {
  const auto put = [out](uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

// The length of the valid UTF-8 sequence that `text` begins with; 0 where there is none.
size_t SequenceLength(std::string_view text) {
  const auto at = [text](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = at(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xc2 && lead < 0xe0   ? 2
                        : lead >= 0xe0 && lead < 0xf0 ? 3
                        : lead >= 0xf0 && lead < 0xf5 ? 4
                                                      : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
  }
  // Over-long forms, surrogates, and what lies above U+10FFFF.
  const uint8_t second = at(1);
  const bool valid = !(lead == 0xe0 && second < 0xa0) && !(lead == 0xed && second > 0x9f) &&
                     !(lead == 0xf0 && second < 0x90) && !(lead == 0xf4 && second > 0x8f);
  return valid ? length : 0;
}

std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void DecodeUtf8(std::string_view text, std::string* out) {
  while (!text.empty()) {
    const size_t length = SequenceLength(text);
    out->append(length == 0 ? kReplacement : text.substr(0, length));
    text.remove_prefix(std::max<size_t>(length, 1));
  }
}

void DecodeUtf16(const RawText& text, std::string* out, size_t limit) {
  Wire units(text.bytes, text.compressed);
  uint32_t high = 0;  // the first half of a pair, waiting for the second
  while (units.remaining() > 0 && out->size() < limit) {
    const uint32_t unit = units.Char();
    const bool second = unit >= 0xdc00 && unit < 0xe000;
    if (high != 0 && second) {
      AppendCodePoint(0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00), out);
      high = 0;
      continue;
    }
    if (high != 0) out->append(kReplacement);
    high = unit >= 0xd800 && unit < 0xdc00 ? unit : 0;
    if (second) {
      out->append(kReplacement);
    } else if (high == 0) {
      AppendCodePoint(unit, out);
    }
  }
  if (high != 0) out->append(kReplacement);
  if (units.remaining() > 0) out->append(kEllipsis);
}

}  // namespace

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = SequenceLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

void DecodeText(const RawText& text, std::string* out, size_t limit) {
  if (text.form == TextForm::kUtf16) return DecodeUtf16(text, out, out->size() + limit);
  const std::string_view whole = AsText(text.bytes);
  const std::string_view kept = whole.substr(0, limit);
  if (text.form == TextForm::kUtf8) DecodeUtf8(kept, out);
  if (text.form == TextForm::kLatin1) {
    for (const char c : kept) AppendCodePoint(static_cast<uint8_t>(c), out);
  }
  if (kept.size() < whole.size()) out->append(kEllipsis);
}

}  // namespace offcpu::jfr
