// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace offcpu {

// A cursor over bytes that nobody vouches for. Reading past the end yields zeros and makes ok()
// false for good, so a decoder reads all its fields and asks once. Native byte order.
class Bytes {
 public:
  Bytes() = default;
  explicit Bytes(std::span<const std::byte> data) : data_(data) {}

  bool ok() const { return ok_; }
  size_t remaining() const { return data_.size() - position_; }
  size_t position() const { return position_; }

  template <class T>
  T Read() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    if (Need(sizeof(T))) {
      std::memcpy(&value, data_.data() + position_, sizeof(T));
      position_ += sizeof(T);
    }
    return value;
  }

  std::span<const std::byte> Take(size_t size) {
    if (!Need(size)) return {};
    auto part = data_.subspan(position_, size);
    position_ += size;
    return part;
  }

  void Skip(size_t size) { (void)Take(size); }

  // A NUL-terminated string; the bytes up to the end when there is no NUL.
  std::string_view TakeString() {
    if (remaining() == 0) return {};
    const char* begin = reinterpret_cast<const char*>(data_.data() + position_);
    const size_t length = strnlen(begin, remaining());
    position_ += length < remaining() ? length + 1 : length;
    return {begin, length};
  }

 private:
  bool Need(size_t size) {
    if (ok_ && size <= remaining()) return true;
    ok_ = false;
    position_ = data_.size();
    return false;
  }

  std::span<const std::byte> data_;
  size_t position_ = 0;
  bool ok_ = true;
};

}  // namespace offcpu
