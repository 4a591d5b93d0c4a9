// SPDX-License-Identifier: MIT
#include "jfr/names.h"

#include <algorithm>
#include <array>
#include <utility>

#include "jfr/text.h"

namespace offcpu::jfr {
namespace {

constexpr int kMaxDepth = 16;
// The JVM's own limit for the names of classes and methods.
constexpr size_t kMaxNameBytes = 64U << 10;
// Real chunks need some dozens; more are made on purpose, and each may be large.
constexpr size_t kMaxReaders = 1024;
// What keeping one answer costs beside its texts: the node, its place, the strings' heads.
constexpr size_t kNodeBytes = 160;

const Method kNoMethod;
const std::string kNoKind;

enum ThreadField { kOsName, kOsId, kJavaName, kJavaId, kGroup, kVirtual, kThreadFields };
enum FrameField { kMethodKey, kLine, kBytecode, kKind, kFrameFields };

std::vector<std::string> Paths(std::initializer_list<const char*> paths) {
  return {paths.begin(), paths.end()};
}

}  // namespace

Names::Reader::Reader(const Metadata& metadata, TypeIndex type, std::span<const std::string> paths)
    : layout_(Layout::Compile(metadata, type, paths)) {
  if (layout_) slots_.resize(layout_->slots());
}

void Names::Reader::Read(Wire* wire, std::span<Value> values) {
  std::fill(values.begin(), values.end(), Value{});
  if (!layout_) return wire->Fail();
  layout_->Read(wire, slots_.data());
  if (!wire->ok()) return;
  for (size_t i = 0; i < values.size(); ++i) {
    const Wanted& wanted = layout_->wanted()[i];
    if (wanted.field != nullptr) values[i] = slots_[wanted.slot];
  }
}

Names::Names(const Chunk* chunk)
    : chunk_(*chunk), text_type_(chunk->metadata().Find("java.lang.String")) {}

size_t Names::EntryHash::operator()(const Entry& entry) const {
  const uint64_t mixed = (entry.key ^ entry.key >> 32) * 0x9e3779b97f4a7c15 + entry.type;
  return static_cast<size_t>(mixed ^ mixed >> 29);
}

Names::Reader& Names::ReaderOf(Role role, TypeIndex type, std::string_view step) {
  const auto key = std::tuple(role, type, std::string(step));
  const auto known = readers_.find(key);
  if (known != readers_.end()) return known->second;
  if (readers_.size() >= kMaxReaders) return no_reader_;
  std::vector<std::string> paths;
  switch (role) {
    case Role::kThread:
      paths = Paths({"osName", "osThreadId", "javaName", "javaThreadId", "group", "virtual"});
      break;
    case Role::kGroup: paths = Paths({"name"}); break;
    case Role::kStack: paths = Paths({"truncated", "frames"}); break;
    case Role::kFrame: paths = Paths({"method", "lineNumber", "bytecodeIndex", "type"}); break;
    case Role::kMethod: paths = Paths({"type", "name", "descriptor"}); break;
    case Role::kText: paths = Paths({"", "name", "javaName", "osName"}); break;
    case Role::kStep: paths = {std::string(step)}; break;
  }
  return readers_.try_emplace(key, chunk_.metadata(), type, paths).first->second;
}

std::optional<Wire> Names::Find(const Value& key) {
  if (key.kind != ValueKind::kKey) return std::nullopt;
  auto wire = chunk_.pools().Find(key.type, key.bits);
  if (!wire && key.bits != 0) ++missing_keys_;
  return wire;
}

bool Names::ReadEntry(Role role, const Value& key, std::span<Value> values, std::string_view step) {
  auto wire = Find(key);
  if (!wire) return false;
  ReaderOf(role, key.type, step).Read(&*wire, values);
  return wire->ok();
}

const Thread* Names::ThreadAt(const Value& value) {
  const Entry entry{value.type, value.bits};
  const auto known = threads_.find(entry);
  if (known != threads_.end()) return &known->second;
  std::array<Value, kThreadFields> fields;
  if (!ReadEntry(Role::kThread, value, fields)) return nullptr;
  Thread thread = ReadThread(fields);
  thread_bytes_ +=
      2 * kNodeBytes + thread.os_name.size() + thread.java_name.size() + thread.group.size();
  if (thread_bytes_ > kKeptBytes) {
    threads_.clear();
    thread_bytes_ = 0;
  }
  return &threads_.emplace(entry, std::move(thread)).first->second;
}

Thread Names::ReadThread(std::span<const Value> fields) {
  Thread thread;
  thread.os_id = fields[kOsId].Integer();
  thread.java_id = fields[kJavaId].Integer();
  thread.os_name = Name(fields[kOsName]);
  thread.java_name = Name(fields[kJavaName]);
  thread.is_virtual = fields[kVirtual].bits != 0;
  std::array<Value, 1> group;
  if (ReadEntry(Role::kGroup, fields[kGroup], group)) thread.group = Name(group[0]);
  return thread;
}

const StackTrace* Names::StackAt(const Value& value) {
  const Entry entry{value.type, value.bits};
  const auto known = stacks_.find(entry);
  if (known != stacks_.end()) return &known->second;
  if (stack_bytes_ > kKeptBytes) {
    stacks_.clear();
    methods_.clear();
    kinds_.clear();
    stack_bytes_ = 0;
  }
  std::array<Value, 2> fields;
  if (!ReadEntry(Role::kStack, value, fields)) return nullptr;
  StackTrace stack = ReadStack(fields[1]);
  if (fields[0].bits != 0) stack.truncated = true;
  stack_bytes_ += kNodeBytes + stack.frames.capacity() * sizeof(Frame);
  return &stacks_.emplace(entry, std::move(stack)).first->second;
}

// A stack whose frames name more than what is kept of all is cut, like one that is too deep.
StackTrace Names::ReadStack(const Value& frames) {
  StackTrace stack;
  if (frames.kind != ValueKind::kArray) return stack;
  Reader& reader = ReaderOf(Role::kFrame, frames.type);
  Wire wire(frames.text.bytes, chunk_.header().compressed);
  stack.frames.reserve(static_cast<size_t>(std::min<uint64_t>(frames.bits, kMaxFrames)));
  for (uint64_t i = 0; i < frames.bits; ++i) {
    std::array<Value, kFrameFields> fields;
    stack.truncated = i == kMaxFrames || stack_bytes_ >= 2 * kKeptBytes;
    if (!stack.truncated) reader.Read(&wire, fields);
    if (stack.truncated || !wire.ok()) break;
    stack.frames.push_back({MethodAt(fields[kMethodKey]), KindAt(fields[kKind]),
                            static_cast<int32_t>(fields[kLine].Integer()),
                            static_cast<int32_t>(fields[kBytecode].Integer())});
  }
  return stack;
}

const Method* Names::MethodAt(const Value& key) {
  const Entry entry{key.type, key.bits};
  const auto known = methods_.find(entry);
  if (known != methods_.end()) return &known->second;
  std::array<Value, 3> fields;
  if (!ReadEntry(Role::kMethod, key, fields)) return &kNoMethod;
  Method method{Name(fields[0]), Name(fields[1]), Name(fields[2])};
  stack_bytes_ += kNodeBytes + method.type_name.capacity() + method.name.capacity() +
                  method.descriptor.capacity();
  return &methods_.emplace(entry, std::move(method)).first->second;
}

const std::string* Names::KindAt(const Value& key) {
  const Entry entry{key.type, key.bits};
  const auto known = kinds_.find(entry);
  if (known != kinds_.end()) return &known->second;
  auto text = Text(key, kMaxNameBytes, 0);
  if (!text) return &kNoKind;
  stack_bytes_ += kNodeBytes + text->capacity();
  return &kinds_.emplace(entry, std::move(*text)).first->second;
}

std::string Names::Name(const Value& value) { return Text(value, kMaxNameBytes, 0).value_or(""); }

std::optional<std::string> Names::TextOf(const Value& value) {
  return Text(value, kMaxTextBytes, 0);
}

std::optional<std::string> Names::Text(const Value& value, size_t limit, int depth) {
  if (depth > kMaxDepth) return std::nullopt;
  if (value.kind == ValueKind::kKey) return TextAtKey(value, limit, depth);
  if (value.kind != ValueKind::kText || value.text.form == TextForm::kNull) return std::nullopt;
  if (value.text.form == TextForm::kPooled) {
    Value key;
    key.kind = ValueKind::kKey;
    key.type = text_type_;
    key.bits = value.text.key;
    return TextAtKey(key, limit, depth);
  }
  std::string text;
  DecodeText(value.text, &text, limit);
  return text;
}

// The value itself, its name, or a thread's one or other name: the first that is there.
std::optional<std::string> Names::TextAtKey(const Value& key, size_t limit, int depth) {
  std::array<Value, 4> values;
  if (!ReadEntry(Role::kText, key, values)) return std::nullopt;
  for (const Value& value : values) {
    auto text = Text(value, limit, depth + 1);
    if (text) return text;
  }
  return std::nullopt;
}

Value Names::Follow(const Value& key, std::string_view path) {
  Value at = key;
  for (int depth = 0; !path.empty(); ++depth) {
    std::array<Value, 1> found;
    if (depth > kMaxDepth || !ReadEntry(Role::kStep, at, found, path)) return {};
    path = ReaderOf(Role::kStep, at.type, path).rest();
    at = found[0];
  }
  return at;
}

}  // namespace offcpu::jfr
