// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/sched_event.h"

namespace offcpu::kernel_compat {

// No field of an event we read may end beyond this; the real ones end within 100 bytes.
constexpr size_t kMaxRecordSize = 4096;

// How a field's bytes are found. Dynamic fields hold 32 bits in the record's fixed part: length in
// the upper half, offset in the lower; the offset counts from the record's start (__data_loc) or
// from the end of the field itself (__rel_loc, 5.17 and later).
enum class FieldKind : uint8_t { kPlain, kDataLoc, kRelLoc };

// Where one field lies in a raw record, in bytes from the record's start. Comes from the event's
// format file only, never from the sum of the fields before it: PREEMPT_RT kernels leave gaps.
struct FieldLayout {
  uint16_t offset = 0;
  uint16_t size = 0;  // 0: this kernel's event has no such field
  bool is_signed = false;
  FieldKind kind = FieldKind::kPlain;

  bool present() const { return size != 0; }
  size_t end() const { return size_t{offset} + size; }
  bool operator==(const FieldLayout&) const = default;
};

namespace detail {

template <class T>
int64_t Load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return static_cast<int64_t>(value);
}

// Eight characters, the first in the lowest byte, without what stands behind the first NUL.
constexpr uint64_t UpToNul(uint64_t text) {
  // The lowest bit that is set in here is the top bit of the first byte that is zero.
  const uint64_t nuls = (text - 0x0101010101010101U) & ~text & 0x8080808080808080U;
  return nuls == 0 ? text : text & ((nuls & -nuls) - 1) >> 7;
}

// `at` has `field.size` readable bytes.
inline int64_t LoadNumber(const std::byte* at, FieldLayout field) {
  switch (field.size) {
    case 1: return field.is_signed ? Load<int8_t>(at) : Load<uint8_t>(at);
    case 2: return field.is_signed ? Load<int16_t>(at) : Load<uint16_t>(at);
    case 4: return field.is_signed ? Load<int32_t>(at) : Load<uint32_t>(at);
    case 8: return Load<int64_t>(at);
    default: return 0;
  }
}

}  // namespace detail

// An integer field of 1, 2, 4 or 8 bytes, extended by its sign; an unsigned 8-byte one comes as the
// same bits. 0 where the record ends before the field does or has no such field.
inline int64_t ReadField(std::span<const std::byte> raw, FieldLayout field) {
  if (raw.size() < field.end()) return 0;
  return detail::LoadNumber(raw.data() + field.offset, field);
}

// The bytes of a field, dynamic or not; false where they don't lie inside the record.
inline bool ReadBytes(std::span<const std::byte> raw, FieldLayout field,
                      std::span<const std::byte>* bytes) {
  if (!field.present() || raw.size() < field.end()) return false;
  size_t offset = field.offset;
  size_t length = field.size;
  if (field.kind != FieldKind::kPlain) {
    uint32_t location = 0;
    if (field.size != sizeof(location)) return false;
    std::memcpy(&location, raw.data() + field.offset, sizeof(location));
    offset = (location & 0xffffU) + (field.kind == FieldKind::kRelLoc ? field.end() : 0);
    length = location >> 16;
    if (offset > raw.size() || length > raw.size() - offset) return false;
  }
  *bytes = raw.subspan(offset, length);
  return true;
}

// Text up to its NUL or the field's end; empty where the field lies outside the record. The view
// is into `raw`.
inline std::string_view ReadText(std::span<const std::byte> raw, FieldLayout field) {
  std::span<const std::byte> bytes;
  if (!ReadBytes(raw, field, &bytes) || bytes.empty()) return {};
  const char* text = reinterpret_cast<const char*>(bytes.data());
  return {text, strnlen(text, bytes.size())};
}

// A command name; what the kernel left behind the NUL is cleared, what is longer than 15 bytes cut.
// Read for every switch, so the usual field is not looked at byte by byte.
inline model::Comm ReadComm(std::span<const std::byte> raw, FieldLayout field) {
  model::Comm comm{};
  const bool usual = field.kind == FieldKind::kPlain && field.size == comm.size();
  if (usual && std::endian::native == std::endian::little && raw.size() >= field.end()) {
    uint64_t half[2];
    std::memcpy(half, raw.data() + field.offset, sizeof(half));
    half[0] = detail::UpToNul(half[0]);
    half[1] = half[0] >> 56 == 0 ? 0 : detail::UpToNul(half[1] & ~uint64_t{0} >> 8);
    std::memcpy(comm.data(), half, sizeof(half));
    return comm;
  }
  const std::string_view text = ReadText(raw, field);
  for (size_t i = 0; i < std::min(text.size(), comm.size() - 1); ++i) comm[i] = text[i];
  return comm;
}

// A trace event's format file (events/<system>/<name>/format in tracefs, or the same text kept in a
// recording), read by libtraceevent. The text is checked line by line before: the library crashes
// on damaged ones (1.7.1: a text that ends inside brackets), and it does not see the print text,
// which task_state.h reads.
class EventFormat {
 public:
  // kUnsupported, naming the event and line, for a text of another event or of no such form.
  static Result<EventFormat> Parse(std::string_view text, std::string_view event_name);

  uint16_t id() const { return id_; }  // as in common_type and perf_event_attr.config; never 0
  // What follows "print fmt:"; empty where the text has none.
  std::string_view print_text() const { return print_text_; }

  bool Has(std::string_view field) const;

  // kUnsupported, naming event and field, where the field is missing, or isn't what is asked for,
  // or ends beyond kMaxRecordSize: an integer of one of `sizes` bytes, ...
  Result<FieldLayout> Number(std::string_view field, std::initializer_list<size_t> sizes) const;
  // ... an array of char, in place or dynamic, whatever stands in the brackets of its declaration.
  Result<FieldLayout> Text(std::string_view field) const;
  // ... an array in place, whatever its elements; records may hold more of them than it declares.
  Result<FieldLayout> Words(std::string_view field) const;

 private:
  struct Field {
    std::string name;
    int offset = 0;
    int size = 0;
    bool is_signed = false;
    bool is_array = false;
    FieldKind kind = FieldKind::kPlain;
  };

  const Field* Find(std::string_view field) const;
  Result<FieldLayout> Layout(const Field& field) const;
  Error Unusable(std::string_view field, const std::string& why) const;
  Result<void> ReadFields(const std::string& checked_text);

  std::string name_;
  uint16_t id_ = 0;
  std::string print_text_;
  std::vector<Field> fields_;
};

}  // namespace offcpu::kernel_compat
