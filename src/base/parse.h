// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace offcpu {

// The whole of `text` as a number in `base`, without sign for unsigned types, sign, blanks or
// locale.
template <class T>
bool ParseNumber(std::string_view text, T* value, int base = 10) {
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, *value, base);
  return error == std::errc() && stop == end && !text.empty();
}

// "250ms", "1.5s", "10us", "3m", "40ns"; a bare number is seconds. Never negative.
Result<Nanos> ParseDuration(std::string_view text);

// "64K", "4M", "1G", "65536": bytes, powers of 1024.
Result<uint64_t> ParseSize(std::string_view text);

// The kernel's CPU lists: "0-3,8,10-11" (sysfs, /proc/self/status).
Result<std::vector<int>> ParseCpuList(std::string_view text);

}  // namespace offcpu
