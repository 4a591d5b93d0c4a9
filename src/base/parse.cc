// SPDX-License-Identifier: MIT
#include "base/parse.h"

#include <array>
#include <string>
#include <utility>

#include "base/files.h"

namespace offcpu {
namespace {

// Digits with at most nine decimals, scaled by `unit`; false on overflow or anything else.
bool ParseScaled(std::string_view text, uint64_t unit, uint64_t* value) {
  const size_t point = text.find('.');
  uint64_t whole = 0;
  if (!ParseNumber(text.substr(0, point), &whole)) return false;
  unsigned __int128 sum = static_cast<unsigned __int128>(whole) * unit;
  if (point != std::string_view::npos) {
    const std::string_view decimals = text.substr(point + 1);
    uint64_t part = 0;
    if (decimals.size() > 9 || !ParseNumber(decimals, &part)) return false;
    uint64_t scale = 1;
    for (size_t i = 0; i < decimals.size(); ++i) scale *= 10;
    sum += static_cast<unsigned __int128>(part) * unit / scale;
  }
  if (sum > static_cast<unsigned __int128>(INT64_MAX)) return false;
  *value = static_cast<uint64_t>(sum);
  return true;
}

template <size_t N>
bool ParseWithUnit(std::string_view text,
                   const std::array<std::pair<std::string_view, uint64_t>, N>& units,
                   uint64_t* value) {
  const size_t digits = text.find_first_not_of("0123456789.");
  const std::string_view unit = digits == std::string_view::npos ? "" : text.substr(digits);
  for (const auto& [name, scale] : units) {
    if (unit == name) return ParseScaled(text.substr(0, digits), scale, value);
  }
  return false;
}

}  // namespace

Result<Nanos> ParseDuration(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, uint64_t>, 7> kUnits{
      {{"", kNanosPerSecond},
       {"ns", 1},
       {"us", 1000},
       {"ms", 1'000'000},
       {"s", kNanosPerSecond},
       {"m", 60 * kNanosPerSecond},
       {"h", 3600 * kNanosPerSecond}}};
  uint64_t value = 0;
  if (!ParseWithUnit(text, kUnits, &value)) {
    return UsageError("'" + std::string(text) + "' is not a duration",
                      "write a number with ns, us, ms, s, m or h, as in 250ms");
  }
  return value;
}

Result<uint64_t> ParseSize(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, uint64_t>, 4> kUnits{
      {{"", 1}, {"K", 1U << 10}, {"M", 1U << 20}, {"G", 1U << 30}}};
  uint64_t value = 0;
  if (!ParseWithUnit(text, kUnits, &value)) {
    return UsageError("'" + std::string(text) + "' is not a size",
                      "write bytes, or a number with K, M or G, as in 4M");
  }
  return value;
}

Result<std::vector<int>> ParseCpuList(std::string_view text) {
  std::vector<int> cpus;
  for (std::string_view range : Split(Trim(text), ',')) {
    const size_t dash = range.find('-');
    int first = 0;
    int last = 0;
    bool good = ParseNumber(range.substr(0, dash), &first);
    last = first;
    if (dash != std::string_view::npos) good = good && ParseNumber(range.substr(dash + 1), &last);
    constexpr int kMaxCpus = 1 << 16;
    if (!good || first < 0 || last < first || last >= kMaxCpus) {
      return Failed("'" + std::string(text) + "' is not a list of CPUs");
    }
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace offcpu
