// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace offcpu::jfr {

// How a string lies in a recording: the byte in front of it.
enum class TextForm : uint8_t {
  kNull = 0,
  kEmpty = 1,
  kPooled = 2,  // a key into the pool of java.lang.String
  kUtf8 = 3,
  kUtf16 = 4,  // each unit an integer of its own
  kLatin1 = 5,
};

// A string as it lies, not yet decoded (DecodeText in text.h).
struct RawText {
  TextForm form = TextForm::kNull;
  bool compressed = true;            // how the units of kUtf16 are written
  uint64_t key = 0;                  // kPooled
  std::span<const std::byte> bytes;  // kUtf8, kLatin1: the characters; kUtf16: the units
};

// A cursor over the values of a recording, which nobody vouches for. Reading past the end yields
// zeros and makes ok() false for good, so a decoder reads what it needs and asks once. Integers are
// compressed (7 bits a byte, the low ones first, a ninth byte whole; padding is legal) or
// big-endian of their natural width, as the chunk's header says.
class Wire {
 public:
  Wire() = default;
  Wire(std::span<const std::byte> data, bool compressed)
      : begin_(data.data()), at_(begin_), end_(begin_ + data.size()), compressed_(compressed) {}

  bool ok() const { return ok_; }
  bool compressed() const { return compressed_; }
  size_t remaining() const { return static_cast<size_t>(end_ - at_); }
  size_t position() const { return static_cast<size_t>(at_ - begin_); }

  uint8_t Byte() { return Need(1) ? static_cast<uint8_t>(*at_++) : 0; }

  // Narrow types were widened without sign; so what lies above their width is dropped, then the
  // sign is put back.
  int64_t Long() { return static_cast<int64_t>(Integer(8)); }
  int32_t Int() { return static_cast<int32_t>(Integer(4)); }
  int16_t Short() { return static_cast<int16_t>(Integer(2)); }
  uint16_t Char() { return static_cast<uint16_t>(Integer(2)); }
  uint64_t Key() { return Integer(8); }

  // A size or a count. Negative ones become huge, so that no check against what is left passes.
  uint64_t Count() {
    const uint64_t count = Integer(4);
    return compressed_ || count <= INT32_MAX ? count : ~uint64_t{0};
  }

  float Float() { return std::bit_cast<float>(static_cast<uint32_t>(Fixed(4))); }
  double Double() { return std::bit_cast<double>(Fixed(8)); }

  std::span<const std::byte> Take(uint64_t size) {
    if (!Need(size)) return {};
    const std::span<const std::byte> part(at_, static_cast<size_t>(size));
    at_ += size;
    return part;
  }
  void Skip(uint64_t size) { (void)Take(size); }

  // Skips an integer of `width` bytes, or a compressed one.
  void SkipInteger(unsigned width) {
    if (compressed_) {
      (void)Compressed();
    } else {
      Skip(width);
    }
  }

  RawText Text() {
    RawText text;
    text.compressed = compressed_;
    const uint8_t form = Byte();
    if (form > static_cast<uint8_t>(TextForm::kLatin1)) Fail();
    if (!ok_) return text;
    text.form = static_cast<TextForm>(form);
    switch (text.form) {
      case TextForm::kNull:
      case TextForm::kEmpty: break;
      case TextForm::kPooled: text.key = Key(); break;
      case TextForm::kUtf8:
      case TextForm::kLatin1: text.bytes = Take(Count()); break;
      case TextForm::kUtf16: text.bytes = TakeUnits(); break;
    }
    return text;
  }

  // What follows can't be read: the input is not what it should be.
  void Fail() {
    ok_ = false;
    at_ = end_;
  }

 private:
  bool Need(uint64_t size) {
    if (size <= remaining()) return true;
    Fail();
    return false;
  }

  uint64_t Integer(unsigned width) { return compressed_ ? Compressed() : Fixed(width); }

  uint64_t Compressed() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 56; shift += 7) {
      const uint64_t byte = Byte();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return value | uint64_t{Byte()} << 56;
  }

  uint64_t Fixed(unsigned width) {
    if (!Need(width)) return 0;
    uint64_t value = 0;
    for (unsigned i = 0; i < width; ++i) value = value << 8 | static_cast<uint8_t>(*at_++);
    return value;
  }

  std::span<const std::byte> TakeUnits() {
    const uint64_t count = Count();
    const std::byte* from = at_;
    if (!compressed_) return count <= remaining() / 2 ? Take(count * 2) : (Fail(), Take(0));
    if (!Need(count)) return {};  // each unit is a byte at least
    for (uint64_t i = 0; i < count && ok_; ++i) (void)Compressed();
    return ok_ ? std::span<const std::byte>(from, at_) : std::span<const std::byte>();
  }

  const std::byte* begin_ = nullptr;
  const std::byte* at_ = nullptr;
  const std::byte* end_ = nullptr;
  bool compressed_ = true;
  bool ok_ = true;
};

}  // namespace offcpu::jfr
