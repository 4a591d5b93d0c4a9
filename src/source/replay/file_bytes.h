// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/bytes.h"

namespace offcpu::source::replay {

template <class T>
constexpr T SwapBytes(T value) {
  static_assert(std::is_integral_v<T>);
  if constexpr (sizeof(T) == 1) return value;
  if constexpr (sizeof(T) == 2) return static_cast<T>(__builtin_bswap16(value));
  if constexpr (sizeof(T) == 4) return static_cast<T>(__builtin_bswap32(value));
  if constexpr (sizeof(T) == 8) return static_cast<T>(__builtin_bswap64(value));
}

// An integer at `at`, which must have sizeof(T) readable bytes.
template <class T>
T LoadInteger(const std::byte* at, bool swap) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return swap ? SwapBytes(value) : value;
}

// base/bytes.h's cursor over a recording that may come from a machine of the other byte order.
class FileBytes {
 public:
  FileBytes(std::span<const std::byte> data, bool swap) : bytes_(data), swap_(swap) {}

  bool ok() const { return bytes_.ok(); }
  size_t remaining() const { return bytes_.remaining(); }
  size_t position() const { return bytes_.position(); }

  template <class T>
  T Read() {
    const T value = bytes_.Read<T>();
    return swap_ ? SwapBytes(value) : value;
  }
  std::span<const std::byte> Take(size_t size) { return bytes_.Take(size); }
  void Skip(size_t size) { bytes_.Skip(size); }
  std::string_view TakeString() { return bytes_.TakeString(); }

 private:
  Bytes bytes_;
  bool swap_;
};

}  // namespace offcpu::source::replay
