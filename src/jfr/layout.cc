// SPDX-License-Identifier: MIT
#include "jfr/layout.h"

#include <algorithm>
#include <utility>

namespace offcpu::jfr {
namespace {

constexpr int kMaxNesting = 16;

}  // namespace

class LayoutCompiler {
 public:
  LayoutCompiler(const Metadata& metadata, std::span<const std::string> paths, size_t max_steps)
      : metadata_(metadata), paths_(paths), max_steps_(max_steps) {
    layout_.wanted_.resize(paths.size());
  }

  // The steps of a value of `type`; `prefix` is the path of the struct it lies in, with a dot.
  bool AddType(TypeIndex type, const std::string& prefix, int depth) {
    if (type == kNoType || depth > kMaxNesting) return false;
    const Primitive primitive = metadata_.type(type).primitive;
    if (primitive != Primitive::kNone) {
      return Add(
          {CodeOf(primitive), depth == 0 ? SlotFor(kSelf, "", false) : Layout::kNoSlot, 0, type});
    }
    if (depth == 0 && metadata_.type(type).simple) simple_prefix_ = "";
    for (const Field& field : metadata_.Fields(type)) {
      const std::string path =
          paths_.empty() ? "" : prefix + std::string(metadata_.FieldName(field));
      if (!AddField(field, path, depth)) return false;
    }
    return true;
  }

  Layout Take() { return std::move(layout_); }

 private:
  using Code = Layout::Code;

  static Code CodeOf(Primitive primitive) {
    switch (primitive) {
      case Primitive::kBoolean: return Code::kBoolean;
      case Primitive::kByte: return Code::kByte;
      case Primitive::kShort: return Code::kShort;
      case Primitive::kChar: return Code::kChar;
      case Primitive::kInt: return Code::kInt;
      case Primitive::kLong: return Code::kLong;
      case Primitive::kFloat: return Code::kFloat;
      case Primitive::kDouble: return Code::kDouble;
      case Primitive::kText:
      case Primitive::kNone: break;
    }
    return Code::kText;
  }

  bool Add(Layout::Step step) {
    if (layout_.steps_.size() >= max_steps_) return false;
    layout_.steps_.push_back(step);
    return true;
  }

  bool AddField(const Field& field, const std::string& path, int depth) {
    if (field.array) return AddArray(field, path, depth);
    if (field.pooled)
      return Add({Code::kKey, SlotFor(field, path, /*may_go_on=*/true), 0, field.type});
    if (field.type == kNoType) return false;
    const Type& type = metadata_.type(field.type);
    if (type.primitive == Primitive::kNone) {
      if (type.simple) simple_prefix_ = path + ".";
      return AddType(field.type, path + ".", depth + 1);
    }
    return Add({CodeOf(type.primitive), SlotFor(field, path, false), 0, field.type});
  }

  bool AddArray(const Field& field, const std::string& path, int depth) {
    const size_t at = layout_.steps_.size();
    if (!Add({Code::kArray, SlotFor(field, path, false), 0, field.type})) return false;
    // Elements have no paths: whoever asks for the array reads them with a layout of their type.
    const std::span<const std::string> paths = std::exchange(paths_, {});
    const bool added = field.pooled ? Add({Code::kKey, Layout::kNoSlot, 0, field.type})
                                    : AddType(field.type, path + ".", depth + 1);
    paths_ = paths;
    layout_.steps_[at].length = static_cast<uint32_t>(layout_.steps_.size() - at - 1);
    return added;
  }

  // The slot of the field at `path`, if somebody asks for it, or for what lies behind its key.
  uint8_t SlotFor(const Field& field, const std::string& path, bool may_go_on) {
    uint8_t slot = Layout::kNoSlot;
    for (size_t i = 0; i < paths_.size(); ++i) {
      const std::string& wanted = paths_[i];
      const bool whole = wanted == path || StandsFor(wanted, path);
      const bool beyond = may_go_on && wanted.starts_with(path + ".");
      if ((!whole && !beyond) || layout_.wanted_[i].field != nullptr) continue;
      if (slot == Layout::kNoSlot) slot = static_cast<uint8_t>(layout_.slots_++);
      layout_.wanted_[i] = {slot, &field, whole ? "" : wanted.substr(path.size() + 1)};
    }
    return slot;
  }

  // Whether `path` is the one field of the simple struct at `wanted`.
  bool StandsFor(const std::string& wanted, const std::string& path) const {
    if (!simple_prefix_ || !path.starts_with(*simple_prefix_)) return false;
    return wanted.empty() ? simple_prefix_->empty() : wanted + "." == *simple_prefix_;
  }

  static constexpr Field kSelf{};  // stands for a value that is no field of anything

  const Metadata& metadata_;
  std::span<const std::string> paths_;
  size_t max_steps_;
  std::optional<std::string> simple_prefix_;  // of the last struct of one field that was met
  Layout layout_;
};

std::optional<Layout> Layout::Compile(const Metadata& metadata, TypeIndex type,
                                      std::span<const std::string> paths, size_t max_steps) {
  LayoutCompiler compiler(metadata, paths.first(std::min(paths.size(), kMaxSlots)),
                          std::min(max_steps, kMaxSteps));
  if (!compiler.AddType(type, "", 0)) return std::nullopt;
  return compiler.Take();
}

void Layout::Read(Wire* wire, Value* slots) const {
  std::fill_n(slots, slots_, Value{});
  Run(wire, 0, steps_.size(), slots);
}

void Layout::Run(Wire* wire, size_t begin, size_t end, Value* slots) const {
  for (size_t at = begin; at < end; ++at) {
    const Step& step = steps_[at];
    if (step.code == Code::kArray) {
      RunArray(wire, at, slots);
      at += step.length;
    } else if (slots != nullptr && step.slot != kNoSlot) {
      ReadStep(wire, step, &slots[step.slot]);
    } else {
      SkipStep(wire, step.code);
    }
  }
}

// Each element that has steps takes a byte at least, so the loop ends with the bytes; elements
// without steps take none and need no loop.
void Layout::RunArray(Wire* wire, size_t at, Value* slots) const {
  const Step& step = steps_[at];
  const uint64_t count = wire->Count();
  if (count > wire->remaining() && step.length > 0) wire->Fail();
  const Wire start = *wire;
  for (uint64_t i = 0; i < count && step.length > 0 && wire->ok(); ++i) {
    Run(wire, at + 1, at + 1 + step.length, nullptr);
  }
  if (slots == nullptr || step.slot == kNoSlot || !wire->ok()) return;
  Value& value = slots[step.slot];
  value.kind = ValueKind::kArray;
  value.type = step.type;
  value.bits = count;
  Wire elements = start;
  value.text.bytes = elements.Take(wire->position() - start.position());
}

void Layout::SkipStep(Wire* wire, Code code) {
  switch (code) {
    case Code::kLong:
    case Code::kKey: wire->SkipInteger(8); break;
    case Code::kInt: wire->SkipInteger(4); break;
    case Code::kShort:
    case Code::kChar: wire->SkipInteger(2); break;
    case Code::kByte:
    case Code::kBoolean: wire->Skip(1); break;
    case Code::kFloat: wire->Skip(4); break;
    case Code::kDouble: wire->Skip(8); break;
    case Code::kText: (void)wire->Text(); break;
    case Code::kArray: break;  // Run's
  }
}

void Layout::ReadStep(Wire* wire, const Step& step, Value* value) {
  const auto integer = [value](int64_t number) {
    value->kind = ValueKind::kInteger;
    value->bits = static_cast<uint64_t>(number);
  };
  const auto real = [value](double number) {
    value->kind = ValueKind::kReal;
    value->bits = std::bit_cast<uint64_t>(number);
  };
  value->type = step.type;
  switch (step.code) {
    case Code::kLong: integer(wire->Long()); break;
    case Code::kInt: integer(wire->Int()); break;
    case Code::kShort: integer(wire->Short()); break;
    case Code::kChar: integer(wire->Char()); break;
    case Code::kByte: integer(static_cast<int8_t>(wire->Byte())); break;
    case Code::kBoolean: integer(wire->Byte() != 0); break;
    case Code::kFloat: real(wire->Float()); break;
    case Code::kDouble: real(wire->Double()); break;
    case Code::kText:
      value->kind = ValueKind::kText;
      value->text = wire->Text();
      break;
    case Code::kKey:
      value->kind = ValueKind::kKey;
      value->bits = wire->Key();
      break;
    case Code::kArray: break;  // Run's
  }
}

}  // namespace offcpu::jfr
