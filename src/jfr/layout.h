// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jfr/metadata.h"
#include "jfr/wire.h"

namespace offcpu::jfr {

enum class ValueKind : uint8_t { kAbsent, kInteger, kReal, kText, kKey, kArray };

// One value of an event or of a pool's entry, as it lies; its bytes live as long as what it was
// read from.
struct Value {
  ValueKind kind = ValueKind::kAbsent;
  TypeIndex type = kNoType;  // kKey: whose pool (kNoType: not described); kArray: of the elements
  uint64_t bits = 0;         // kInteger, kReal, kKey, and an array's count
  RawText text;              // kText; for kArray its bytes are the elements

  int64_t Integer() const { return static_cast<int64_t>(bits); }
  double Real() const { return std::bit_cast<double>(bits); }
};

// Where a path ended: at the field itself, or at one whose value is in a pool and whose rest must
// be looked up there.
struct Wanted {
  uint8_t slot = 0;
  const Field* field = nullptr;  // lives as long as the metadata; null: the type has no such field
  std::string rest;              // of the path, within the pool's type; empty: the value itself
};

// How the values of one type lie, compiled once: a flat list of steps that skips what nobody asked
// for and puts the rest into slots. Inline structs are steps of their own.
class Layout {
 public:
  static constexpr size_t kMaxSteps = 4096;
  static constexpr size_t kMaxSlots = 250;

  // `paths`: at most kMaxSlots names of fields, "a.b" for one within a struct or behind a key, ""
  // for the value itself (a primitive one, or the only field of a simple type). None where the type
  // can't be laid out: a field of an unknown type, structs within each other more than 16 deep,
  // more than `max_steps` steps.
  static std::optional<Layout> Compile(const Metadata& metadata, TypeIndex type,
                                       std::span<const std::string> paths,
                                       size_t max_steps = kMaxSteps);

  size_t steps() const { return steps_.size(); }
  size_t slots() const { return slots_; }
  std::span<const Wanted> wanted() const { return wanted_; }  // one for each path

  // Skips a value; wire->ok() tells whether it was all there.
  void Skip(Wire* wire) const { Run(wire, 0, steps_.size(), nullptr); }
  // The same, but puts what was asked for into `slots` (slots() of them), whose old values go.
  void Read(Wire* wire, Value* slots) const;

 private:
  friend class LayoutCompiler;

  enum class Code : uint8_t {
    kLong,
    kInt,
    kShort,
    kChar,
    kByte,
    kBoolean,
    kFloat,
    kDouble,
    kText,
    kKey,
    kArray,  // the next `length` steps are its element
  };
  struct Step {
    Code code = Code::kByte;
    uint8_t slot = kNoSlot;
    uint32_t length = 0;
    TypeIndex type = kNoType;
  };
  static constexpr uint8_t kNoSlot = 255;

  void Run(Wire* wire, size_t begin, size_t end, Value* slots) const;
  void RunArray(Wire* wire, size_t at, Value* slots) const;
  static void SkipStep(Wire* wire, Code code);
  static void ReadStep(Wire* wire, const Step& step, Value* value);

  std::vector<Step> steps_;
  std::vector<Wanted> wanted_;
  size_t slots_ = 0;
};

}  // namespace offcpu::jfr
