// SPDX-License-Identifier: MIT
#include "jfr/listing.h"

#include <array>
#include <charconv>
#include <optional>
#include <string_view>

namespace offcpu::jfr {
namespace {

constexpr std::string_view kNull = "-";

// The JDK's own events had longer names in version 1 (JDK 9).
std::string JdkName(const ChunkHeader& header, const char* name) {
  return (header.major == 1 ? "com.oracle.jdk." : "jdk.") + std::string(name);
}

std::string NumberText(std::optional<int64_t> number, std::string_view otherwise) {
  return number ? std::to_string(*number) : std::string(otherwise);
}

std::string RealText(const Metadata& metadata, const Value& value) {
  std::array<char, 64> text{};
  const bool narrow =
      value.type != kNoType && metadata.type(value.type).primitive == Primitive::kFloat;
  const auto [end, error] =
      narrow ? std::to_chars(text.begin(), text.end(), static_cast<float>(value.Real()))
             : std::to_chars(text.begin(), text.end(), value.Real());
  return error == std::errc() ? std::string(text.begin(), end) : std::string(kNull);
}

std::string IntegerText(const Chunk& chunk, const Field& field, const Value& value) {
  const int64_t number = value.Integer();
  if (field.unit == Unit::kTicksAt || field.unit == Unit::kEpochMillisAt) {
    return NumberText(EpochNanos(chunk.header(), field.unit, number), "none");
  }
  if (field.unit != Unit::kNone) {
    return NumberText(SpanNanos(chunk.header(), field.unit, number), "none");
  }
  const Metadata& metadata = chunk.metadata();
  if (value.type != kNoType && metadata.type(value.type).primitive == Primitive::kBoolean) {
    return number != 0 ? "true" : "false";
  }
  return field.is_unsigned ? std::to_string(value.bits) : std::to_string(number);
}

// Whether the values of `type` are threads: they are shown by their OS ids.
bool IsThread(const Metadata& metadata, TypeIndex type) {
  if (type == kNoType) return false;
  for (const Field& field : metadata.Fields(type)) {
    if (metadata.FieldName(field) == "osThreadId") return true;
  }
  return false;
}

std::string ValueText(const Chunk& chunk, const Field& field, const Value& value, Names* names) {
  switch (value.kind) {
    case ValueKind::kInteger: return IntegerText(chunk, field, value);
    case ValueKind::kReal: return RealText(chunk.metadata(), value);
    case ValueKind::kArray: return "[" + std::to_string(value.bits) + "]";
    case ValueKind::kKey:
      if (IsThread(chunk.metadata(), value.type)) {
        const Thread* thread = names->ThreadAt(value);
        return thread == nullptr ? std::string(kNull) : std::to_string(thread->os_id);
      }
      [[fallthrough]];
    case ValueKind::kText: return names->TextOf(value).value_or(std::string(kNull));
    case ValueKind::kAbsent: break;
  }
  return std::string(kNull);
}

std::string FrameText(const Frame& frame) {
  return frame.method->type_name + "." + frame.method->name + ":" + std::to_string(frame.line);
}

std::string StackColumns(const StackTrace* stack) {
  if (stack == nullptr) return "0\t-\t-";
  std::string text = std::to_string(stack->frames.size());
  text += stack->truncated ? "\ttrue\t" : "\tfalse\t";
  if (stack->frames.empty()) return text + "<none>";
  const Frame& top = stack->frames.front();
  return text + FrameText(top) + "@" + std::to_string(top.bytecode_index) + "/" + *top.kind;
}

std::string ThreadColumns(const Thread* thread) {
  if (thread == nullptr) return "-\t-\t-";
  return std::to_string(thread->os_id) + "\t" + std::to_string(thread->java_id) + "\t" +
         thread->os_name;
}

bool IsStandard(std::string_view path) {
  return path == "startTime" || path == "duration" || path == "eventThread" ||
         path == "sampledThread" || path == "stackTrace";
}

}  // namespace

void CountEvents(const Chunk& chunk, std::map<std::string, uint64_t>* counts) {
  const Metadata& metadata = chunk.metadata();
  const auto add = [counts](std::string name, uint64_t count) {
    if (count != 0) (*counts)[std::move(name)] += count;
  };
  add(JdkName(chunk.header(), "Metadata"), chunk.metadata_events());
  add(JdkName(chunk.header(), "CheckPoint"), chunk.checkpoint_events());
  for (TypeIndex type = 0; type < chunk.counts().size(); ++type) {
    add(std::string(metadata.TypeName(type)), chunk.counts()[type]);
  }
}

std::string EventRow(const Chunk& chunk, const Selection& selection, const EventCursor& cursor,
                     const Event& event, Names* names) {
  const Selection::Item& item = selection.items()[event.selected];
  std::string row = item.type + "\t" + NumberText(cursor.StartEpochNanos(), kNull) + "\t" +
                    NumberText(cursor.DurationNanos(), kNull) + "\t" +
                    ThreadColumns(names->ThreadAt(event.thread)) + "\t" +
                    StackColumns(names->StackAt(event.stack)) + "\t";
  bool first = true;
  for (size_t i = 0; i < item.paths.size(); ++i) {
    const Field* field = cursor.FieldOf(i);
    if (field == nullptr || IsStandard(item.paths[i])) continue;
    row +=
        (first ? "" : ";") + item.paths[i] + "=" + ValueText(chunk, *field, cursor.Field(i), names);
    first = false;
  }
  return row;
}

std::string CollapsedStack(const StackTrace& stack) {
  std::string text;
  for (auto frame = stack.frames.rbegin(); frame != stack.frames.rend(); ++frame) {
    if (!text.empty()) text += ";";
    text += FrameText(*frame);
  }
  return text;
}

}  // namespace offcpu::jfr
