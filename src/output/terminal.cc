// SPDX-License-Identifier: MIT
#include "output/terminal.h"

#include <array>
#include <utility>

#include <fmt/format.h>

namespace offcpu::output {
namespace {

// `duration` in `unit`s, times `scale`, rounded half up.
uint64_t Rounded(Nanos duration, Nanos unit, uint64_t scale) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(duration) * scale + unit / 2) /
                               unit);
}

unsigned char ByteAt(std::string_view text, size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
}

// Length of the well-formed UTF-8 sequence at `i` (RFC 3629); 0 when there is none.
size_t SequenceLength(std::string_view text, size_t i) {
  const unsigned char lead = ByteAt(text, i);
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  for (size_t k = 1; k < length; ++k) {
    if ((ByteAt(text, i + k) & 0xc0) != 0x80) return 0;
  }
  const unsigned char second = ByteAt(text, i + 1);
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool surrogate = lead == 0xed && second >= 0xa0;
  const bool too_high = lead == 0xf4 && second >= 0x90;
  return overlong || surrogate || too_high ? 0 : length;
}

// C0, DEL and C1: what a terminal may act on.
bool IsControl(std::string_view text, size_t i, size_t length) {
  const unsigned char lead = ByteAt(text, i);
  if (length == 1) return lead < 0x20 || lead == 0x7f;
  return length == 2 && lead == 0xc2 && ByteAt(text, i + 1) < 0xa0;
}

}  // namespace

std::string FormatDuration(Nanos duration) {
  if (duration < 1000) return fmt::format("{} ns", duration);
  constexpr std::array<std::pair<Nanos, const char*>, 3> kUnits{
      {{1000, "us"}, {1'000'000, "ms"}, {kNanosPerSecond, "s"}}};
  for (const auto& [unit, name] : kUnits) {
    if (const uint64_t n = Rounded(duration, unit, 100); n < 1000) {
      return fmt::format("{}.{:02} {}", n / 100, n % 100, name);
    }
    if (const uint64_t n = Rounded(duration, unit, 10); n < 1000) {
      return fmt::format("{}.{} {}", n / 10, n % 10, name);
    }
    if (const uint64_t n = Rounded(duration, unit, 1); n < 1000) {
      return fmt::format("{} {}", n, name);
    }
  }
  return fmt::format("{} s", Rounded(duration, kNanosPerSecond, 1));
}

std::string FormatShare(uint64_t part, uint64_t whole) {
  if (whole == 0) return "-";
  const uint64_t permille = Rounded(part, whole, 1000);
  if (permille == 0 && part > 0) return "<0.1 %";
  return fmt::format("{}.{} %", permille / 10, permille % 10);
}

std::string Counted(uint64_t count, std::string_view plural) {
  const size_t ending = plural.ends_with("sses") ? 2 : 1;
  return fmt::format("{} {}", count,
                     count == 1 ? plural.substr(0, plural.size() - ending) : plural);
}

std::string Printable(std::string_view text) {
  std::string safe;
  for (size_t i = 0; i < text.size();) {
    const size_t length = SequenceLength(text, i);
    if (length > 0 && !IsControl(text, i, length)) {
      safe += text.substr(i, length);
      i += length;
      continue;
    }
    const size_t end = i + (length > 0 ? length : 1);
    for (; i < end; ++i) safe += fmt::format("\\x{:02x}", ByteAt(text, i));
  }
  return safe;
}

size_t DisplayWidth(std::string_view printable) {
  size_t width = 0;
  for (const char c : printable) {
    if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) ++width;
  }
  return width;
}

}  // namespace offcpu::output
