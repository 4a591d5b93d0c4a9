// SPDX-License-Identifier: MIT
#include "jfr/metadata.h"

#include <array>
#include <utility>

#include "base/parse.h"
#include "jfr/text.h"

namespace offcpu::jfr {
namespace {

constexpr size_t kMaxMetadataBytes = 16U << 20;
constexpr int kMaxDepth = 16;
// Far beyond real ones (JDK 17: 1,986 strings, 269 types, 1,170 fields), and small enough that
// tables by type or string stay small however little of the file each takes.
constexpr uint64_t kMaxStrings = 1U << 20;
constexpr size_t kMaxTypes = 1U << 16;
constexpr size_t kMaxFields = 1U << 18;
constexpr uint64_t kSmallIds = 1U << 16;

// The strings of the element tree that mean something here.
enum class Word : uint8_t {
  kOther,
  kClass,
  kField,
  kAnnotation,
  kRegion,
  kId,
  kName,
  kSuperType,
  kSimpleType,
  kConstantPool,
  kDimension,
  kValue,
  kGmtOffset,
};
constexpr std::array<std::pair<std::string_view, Word>, 13> kWords{{
    {"class", Word::kClass},
    {"field", Word::kField},
    {"annotation", Word::kAnnotation},
    {"region", Word::kRegion},
    {"id", Word::kId},
    {"name", Word::kName},
    {"superType", Word::kSuperType},
    {"simpleType", Word::kSimpleType},
    {"constantPool", Word::kConstantPool},
    {"dimension", Word::kDimension},
    {"value", Word::kValue},
    {"value-0", Word::kValue},
    {"gmtOffset", Word::kGmtOffset},
}};

Word WordOf(std::string_view text) {
  for (const auto& [word, value] : kWords) {
    if (text == word) return value;
  }
  return Word::kOther;
}

Primitive PrimitiveOf(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Primitive>, 9> kNames{{
      {"boolean", Primitive::kBoolean},
      {"byte", Primitive::kByte},
      {"short", Primitive::kShort},
      {"char", Primitive::kChar},
      {"int", Primitive::kInt},
      {"long", Primitive::kLong},
      {"float", Primitive::kFloat},
      {"double", Primitive::kDouble},
      {"java.lang.String", Primitive::kText},
  }};
  for (const auto& [text, value] : kNames) {
    if (name == text) return value;
  }
  return Primitive::kNone;
}

Unit SpanUnit(std::string_view value) {
  if (value == "TICKS") return Unit::kTicks;
  if (value == "MICROSECONDS") return Unit::kMicros;
  if (value == "MILLISECONDS") return Unit::kMillis;
  if (value == "SECONDS") return Unit::kSeconds;
  return Unit::kNanos;  // the annotation's default
}

}  // namespace

// Walks the element tree twice: first for the types, then for their fields, whose types and
// annotations may be described further down.
class MetadataParser {
 public:
  explicit MetadataParser(Metadata* metadata) : metadata_(*metadata) {}

  bool Parse(Wire wire) {
    (void)wire.Long();  // start
    (void)wire.Long();  // duration
    (void)wire.Key();   // number of this metadata
    if (!ReadStrings(&wire)) return false;
    for (const bool fields : {false, true}) {
      in_fields_pass_ = fields;
      Wire elements = wire;
      if (!ReadElement(&elements, 0) || !elements.ok()) return false;
      if (!fields) IndexIds();
    }
    return true;
  }

 private:
  // Attributes of one element, as positions of strings.
  struct Attributes {
    std::string_view id, name, super_type, class_id, value, gmt_offset;
    uint32_t name_index = 0;
    bool simple = false;
    bool pooled = false;
    bool array = false;
  };

  bool ReadStrings(Wire* wire) {
    const uint64_t count = wire->Count();
    if (count > wire->remaining() || count > kMaxStrings) return false;
    metadata_.ends_.reserve(static_cast<size_t>(count));
    for (uint64_t i = 0; i < count; ++i) {
      const RawText text = wire->Text();
      if (!wire->ok() || text.form == TextForm::kPooled) return false;
      DecodeText(text, &metadata_.text_);
      metadata_.ends_.push_back(static_cast<uint32_t>(metadata_.text_.size()));
    }
    words_.reserve(metadata_.ends_.size());
    for (uint32_t i = 0; i < metadata_.ends_.size(); ++i) {
      words_.push_back(WordOf(metadata_.Text(i)));
    }
    return true;
  }

  // The position of a string; an empty table has none, so the walk fails.
  uint32_t StringIndex(Wire* wire) {
    const uint64_t index = wire->Count();
    if (index < words_.size()) return static_cast<uint32_t>(index);
    wire->Fail();
    return 0;
  }

  bool ReadElement(Wire* wire, int depth) {
    const uint32_t name = StringIndex(wire);
    Attributes attributes;
    if (!wire->ok() || depth > kMaxDepth || !ReadAttributes(wire, &attributes)) return false;
    const Word word = words_[name];
    Enter(word, attributes);
    if (metadata_.types_.size() > kMaxTypes || metadata_.fields_.size() > kMaxFields) return false;
    const uint64_t children = wire->Count();
    if (children > wire->remaining()) return false;
    for (uint64_t i = 0; i < children; ++i) {
      if (!ReadElement(wire, depth + 1)) return false;
    }
    if (word == Word::kClass || word == Word::kField) field_ = nullptr;
    if (word == Word::kClass) type_ = nullptr;
    return true;
  }

  bool ReadAttributes(Wire* wire, Attributes* attributes) {
    const uint64_t count = wire->Count();
    if (count > wire->remaining()) return false;
    for (uint64_t i = 0; i < count && wire->ok(); ++i) {
      const uint32_t key = StringIndex(wire);
      const uint32_t value = StringIndex(wire);
      if (wire->ok()) Set(words_[key], value, attributes);
    }
    return wire->ok();
  }

  void Set(Word key, uint32_t value, Attributes* attributes) const {
    const std::string_view text = metadata_.Text(value);
    switch (key) {
      case Word::kId: attributes->id = text; break;
      case Word::kName:
        attributes->name = text;
        attributes->name_index = value;
        break;
      case Word::kSuperType: attributes->super_type = text; break;
      case Word::kClass: attributes->class_id = text; break;
      case Word::kValue: attributes->value = text; break;
      case Word::kGmtOffset: attributes->gmt_offset = text; break;
      case Word::kSimpleType: attributes->simple = text == "true"; break;
      case Word::kConstantPool: attributes->pooled = text == "true"; break;
      case Word::kDimension: attributes->array = text != "0"; break;
      default: break;
    }
  }

  void Enter(Word word, const Attributes& attributes) {
    if (word == Word::kRegion && !attributes.gmt_offset.empty()) {
      (void)ParseNumber(attributes.gmt_offset, &metadata_.gmt_offset_millis_);
    }
    if (word == Word::kClass) EnterType(attributes);
    if (!in_fields_pass_) return;
    if (word == Word::kField && type_ != nullptr) EnterField(attributes);
    if (word == Word::kAnnotation && field_ != nullptr) Annotate(attributes);
  }

  // Both passes meet the same types in the same order.
  void EnterType(const Attributes& attributes) {
    if (in_fields_pass_) {
      type_ = &metadata_.types_[next_type_++];
      type_->first_field = static_cast<uint32_t>(metadata_.fields_.size());
      return;
    }
    Type type;
    if (!ParseNumber(attributes.id, &type.id)) type.id = kNoId;
    type.name = attributes.name_index;
    type.primitive = PrimitiveOf(attributes.name);
    type.simple = attributes.simple;
    type.event = attributes.super_type == "jdk.jfr.Event";
    metadata_.types_.push_back(type);
  }

  void EnterField(const Attributes& attributes) {
    Field field;
    uint64_t id = 0;
    field.name = attributes.name_index;
    field.type = ParseNumber(attributes.class_id, &id) ? metadata_.ById(id) : kNoType;
    field.pooled = attributes.pooled;
    field.array = attributes.array;
    metadata_.fields_.push_back(field);
    field_ = &metadata_.fields_.back();
    ++type_->field_count;
  }

  void Annotate(const Attributes& attributes) {
    uint64_t id = 0;
    if (!ParseNumber(attributes.class_id, &id)) return;
    const TypeIndex annotation = metadata_.ById(id);
    if (annotation == kNoType) return;
    const std::string_view name = metadata_.TypeName(annotation);
    if (name == "jdk.jfr.Unsigned") field_->is_unsigned = true;
    if (name == "jdk.jfr.Timespan") field_->unit = SpanUnit(attributes.value);
    if (name == "jdk.jfr.Timestamp") {
      field_->unit = attributes.value == "TICKS" ? Unit::kTicksAt : Unit::kEpochMillisAt;
    }
  }

  void IndexIds() {
    for (TypeIndex i = 0; i < metadata_.types_.size(); ++i) {
      const uint64_t id = metadata_.types_[i].id;
      if (id == kNoId) continue;
      if (id >= kSmallIds) {
        metadata_.large_ids_.emplace(id, i);
        continue;
      }
      if (id >= metadata_.small_ids_.size()) metadata_.small_ids_.resize(id + 1, kNoType);
      if (metadata_.small_ids_[id] == kNoType) metadata_.small_ids_[id] = i;
    }
  }

  static constexpr uint64_t kNoId = ~uint64_t{0};

  Metadata& metadata_;
  std::vector<Word> words_;  // of each string
  bool in_fields_pass_ = false;
  size_t next_type_ = 0;
  Type* type_ = nullptr;    // whose children are read
  Field* field_ = nullptr;  // likewise
};

std::optional<Metadata> Metadata::Parse(std::span<const std::byte> payload, bool compressed) {
  if (payload.size() > kMaxMetadataBytes) return std::nullopt;
  Metadata metadata;
  if (!MetadataParser(&metadata).Parse(Wire(payload, compressed))) return std::nullopt;
  return metadata;
}

TypeIndex Metadata::Find(std::string_view name) const {
  for (TypeIndex i = 0; i < types_.size(); ++i) {
    if (TypeName(i) == name) return i;
  }
  return kNoType;
}

}  // namespace offcpu::jfr
