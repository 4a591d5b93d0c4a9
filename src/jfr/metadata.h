// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "jfr/wire.h"

namespace offcpu::jfr {

// Position of a type in Metadata::types(). Numbers differ from chunk to chunk; only names last.
using TypeIndex = uint32_t;
constexpr TypeIndex kNoType = ~TypeIndex{0};

// Types that the metadata names without describing them.
enum class Primitive : uint8_t {
  kNone,  // a struct
  kBoolean,
  kByte,
  kShort,
  kChar,
  kInt,
  kLong,
  kFloat,
  kDouble,
  kText,  // java.lang.String
};

// What a number means: from the field's annotations, never from the event's name (ThreadSleep.time
// is in milliseconds in JDK 17 and in nanoseconds in JDK 21).
enum class Unit : uint8_t {
  kNone,
  kTicksAt,        // a point in time, in the chunk's ticks
  kEpochMillisAt,  // a point in time, in milliseconds since the epoch
  kTicks,          // spans of time
  kNanos,
  kMicros,
  kMillis,
  kSeconds,
};

struct Field {
  uint32_t name = 0;  // Metadata::Text
  TypeIndex type = kNoType;
  bool pooled = false;  // the value is a key into the pool of the type
  bool array = false;
  bool is_unsigned = false;
  Unit unit = Unit::kNone;
};

struct Type {
  uint64_t id = 0;
  uint32_t name = 0;
  uint32_t first_field = 0;
  uint32_t field_count = 0;
  Primitive primitive = Primitive::kNone;
  bool simple = false;  // has one field, which stands for the whole
  bool event = false;
};

// What a chunk says about its types: which there are, and how their values lie.
class Metadata {
 public:
  // From the metadata event's bytes behind size and type id. None where they can't be read to the
  // end. Bounds: 16 MiB, 2^20 strings, 2^16 types, 2^18 fields, elements 16 deep; counts are held
  // against the bytes left.
  static std::optional<Metadata> Parse(std::span<const std::byte> payload, bool compressed);

  std::span<const Type> types() const { return types_; }
  const Type& type(TypeIndex index) const { return types_[index]; }
  std::string_view TypeName(TypeIndex index) const { return Text(types_[index].name); }
  std::span<const Field> Fields(TypeIndex index) const {
    return std::span(fields_).subspan(types_[index].first_field, types_[index].field_count);
  }
  std::string_view FieldName(const Field& field) const { return Text(field.name); }

  // kNoType where there is none. Several types may have one name (a class loaded twice); Find
  // returns the first.
  TypeIndex ById(uint64_t id) const {
    if (id < small_ids_.size()) return small_ids_[id];
    const auto found = large_ids_.find(id);
    return found == large_ids_.end() ? kNoType : found->second;
  }
  TypeIndex Find(std::string_view name) const;

  // Local time's distance from UTC where the JVM ran.
  int64_t gmt_offset_millis() const { return gmt_offset_millis_; }

 private:
  friend class MetadataParser;

  std::string_view Text(uint32_t index) const {
    const uint32_t begin = index == 0 ? 0 : ends_[index - 1];
    return std::string_view(text_).substr(begin, ends_[index] - begin);
  }

  std::string text_;            // all strings, one behind the other
  std::vector<uint32_t> ends_;  // of each string in text_
  std::vector<Type> types_;
  std::vector<Field> fields_;
  std::vector<TypeIndex> small_ids_;  // by id, which are small numbers in practice
  std::unordered_map<uint64_t, TypeIndex> large_ids_;
  int64_t gmt_offset_millis_ = 0;
};

}  // namespace offcpu::jfr
