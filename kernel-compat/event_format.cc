// SPDX-License-Identifier: MIT
#include "kernel-compat/event_format.h"

#include <traceevent/event-parse.h>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "base/files.h"
#include "base/parse.h"

namespace offcpu::kernel_compat {
namespace {

constexpr size_t kMaxFormatText = 64U << 10;
constexpr std::string_view kPrintLine = "print fmt:";

struct FreeTep {
  void operator()(tep_handle* tep) const { tep_free(tep); }
};
using TepHandle = std::unique_ptr<tep_handle, FreeTep>;

bool IsNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool IsName(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsNameChar);
}

// The rest of `line` behind `key`, trimmed; false when the line doesn't begin with it.
bool TakeKey(std::string_view line, std::string_view key, std::string_view* value) {
  if (line.substr(0, key.size()) != key) return false;
  *value = Trim(line.substr(key.size()));
  return true;
}

bool TakeNumber(std::string_view part, std::string_view key, uint32_t* value) {
  std::string_view digits;
  // The library keeps numbers in int.
  return TakeKey(part, key, &digits) && ParseNumber(digits, value) && *value <= INT32_MAX;
}

// "int pid", "struct page * page": at least a type and a name, the name last.
bool IsTypeAndName(std::string_view text) {
  const size_t name = text.find_last_of(" *");
  if (name == std::string_view::npos || !IsName(text.substr(name + 1))) return false;
  const std::string_view type = Trim(text.substr(0, name + 1));
  return !type.empty() && IsName(type.substr(0, 1)) &&
         std::all_of(type.begin(), type.end(),
                     [](char c) { return IsNameChar(c) || c == ' ' || c == '*'; });
}

// A declaration as the kernel writes them ("char comm[TASK_COMM_LEN]", "__data_loc char[] comm"),
// with 1 for whatever stands in the brackets: sizes come from "size:". Empty when it is none.
std::string CleanDeclaration(std::string_view text) {
  if (text.substr(0, 11) == "__data_loc " || text.substr(0, 10) == "__rel_loc ") {
    const size_t brackets = text.find("[] ");
    if (brackets == std::string_view::npos) return {};
    const std::string_view type = text.substr(0, brackets);
    const std::string_view name = text.substr(brackets + 3);
    if (!IsTypeAndName(type) || !IsName(name)) return {};
    return fmt::format("{}[] {}", type, name);
  }
  const size_t open = text.find('[');
  const std::string_view declared = text.substr(0, open);
  if (!IsTypeAndName(declared)) return {};
  if (open == std::string_view::npos) return std::string(declared);
  if (text.find_first_of("[]", open + 1) != text.size() - 1 || text.back() != ']') return {};
  return fmt::format("{}[1]", declared);
}

// "field:int pid; offset:24; size:4; signed:1;" in the library's own spelling, or empty.
std::string CleanField(std::string_view line) {
  const auto parts = Split(line, ';');
  std::string_view declaration;
  uint32_t offset = 0;
  uint32_t size = 0;
  uint32_t is_signed = 0;
  if (parts.size() != 4 || line.back() != ';' || !TakeKey(parts[0], "field:", &declaration) ||
      !TakeNumber(Trim(parts[1]), "offset:", &offset) ||
      !TakeNumber(Trim(parts[2]), "size:", &size) ||
      !TakeNumber(Trim(parts[3]), "signed:", &is_signed) || is_signed > 1) {
    return {};
  }
  const std::string clean = CleanDeclaration(declaration);
  if (clean.empty()) return {};
  return fmt::format("\tfield:{};\toffset:{};\tsize:{};\tsigned:{};\n", clean, offset, size,
                     is_signed);
}

bool IsCommonField(std::string_view clean_line) {
  return clean_line.find(" common_") != std::string_view::npos;
}

Error NotAFormat(std::string_view event, size_t line) {
  return MakeError(ErrorCode::kUnsupported,
                   fmt::format("event {}: line {} of its format is damaged or of a form not known",
                               event, line));
}

FieldKind KindOf(unsigned long flags) {
  if ((flags & TEP_FIELD_IS_DYNAMIC) == 0) return FieldKind::kPlain;
  return (flags & TEP_FIELD_IS_RELATIVE) != 0 ? FieldKind::kRelLoc : FieldKind::kDataLoc;
}

}  // namespace

Result<EventFormat> EventFormat::Parse(std::string_view text, std::string_view event_name) {
  EventFormat format;
  format.name_ = event_name;
  if (text.size() > kMaxFormatText || text.find('\0') != std::string_view::npos) {
    return MakeError(ErrorCode::kUnsupported,
                     fmt::format("event {}: its format is no text of at most {} bytes", event_name,
                                 kMaxFormatText));
  }
  const auto lines = Split(text, '\n');
  std::string_view name;
  uint32_t id = 0;
  if (lines.size() < 3 || !TakeKey(lines[0], "name:", &name) || name != event_name) {
    return NotAFormat(event_name, 1);
  }
  if (!TakeNumber(lines[1], "ID:", &id) || id == 0 || id > UINT16_MAX) {
    return NotAFormat(event_name, 2);
  }
  if (Trim(lines[2]) != "format:") return NotAFormat(event_name, 3);
  format.id_ = static_cast<uint16_t>(id);

  std::string common;
  std::string own;
  for (size_t i = 3; i < lines.size(); ++i) {
    const std::string_view line = Trim(lines[i]);
    std::string_view print_text;
    if (line.empty()) continue;
    if (TakeKey(line, kPrintLine, &print_text)) {
      format.print_text_ = print_text;
      break;
    }
    const std::string field = CleanField(line);
    if (field.empty()) return NotAFormat(event_name, i + 1);
    (IsCommonField(field) ? common : own) += field;
  }
  if (common.empty() || own.empty()) return NotAFormat(event_name, lines.size());
  auto read = format.ReadFields(fmt::format("name: {}\nID: {}\nformat:\n{}\n{}\nprint fmt: \"\"\n",
                                            event_name, id, common, own));
  if (!read) return read.error();
  return format;
}

Result<void> EventFormat::ReadFields(const std::string& checked_text) {
  static std::once_flag quiet;  // it would write its warnings to standard error
  std::call_once(quiet, [] { tep_set_loglevel(TEP_LOG_NONE); });
  const TepHandle tep(tep_alloc());
  tep_event* event = nullptr;
  if (tep == nullptr ||
      tep_parse_format(tep.get(), &event, checked_text.c_str(), checked_text.size(), "offcpu") !=
          0 ||
      event == nullptr) {
    return MakeError(ErrorCode::kUnsupported,
                     fmt::format("event {}: libtraceevent can't read its format", name_));
  }
  for (const tep_format_field* field : {event->format.common_fields, event->format.fields}) {
    for (; field != nullptr; field = field->next) {
      if (!IsName(field->name == nullptr ? "" : field->name)) continue;
      fields_.push_back({field->name, field->offset, field->size,
                         (field->flags & TEP_FIELD_IS_SIGNED) != 0,
                         (field->flags & TEP_FIELD_IS_ARRAY) != 0, KindOf(field->flags)});
    }
  }
  return {};
}

const EventFormat::Field* EventFormat::Find(std::string_view field) const {
  const auto found = std::find_if(fields_.begin(), fields_.end(),
                                  [&](const Field& each) { return each.name == field; });
  return found == fields_.end() ? nullptr : &*found;
}

bool EventFormat::Has(std::string_view field) const { return Find(field) != nullptr; }

Error EventFormat::Unusable(std::string_view field, const std::string& why) const {
  return MakeError(ErrorCode::kUnsupported, fmt::format("event {}: field {} {}", name_, field, why),
                   "this kernel's events have a form that offcpu does not know yet; please report "
                   "its format file");
}

Result<FieldLayout> EventFormat::Layout(const Field& field) const {
  if (field.size < 1 || field.offset < 0 || static_cast<size_t>(field.size) > kMaxRecordSize ||
      static_cast<size_t>(field.offset) > kMaxRecordSize - static_cast<size_t>(field.size)) {
    return Unusable(field.name,
                    fmt::format("at offset {} with size {} does not lie within {} bytes",
                                field.offset, field.size, kMaxRecordSize));
  }
  return FieldLayout{static_cast<uint16_t>(field.offset), static_cast<uint16_t>(field.size),
                     field.is_signed, field.kind};
}

Result<FieldLayout> EventFormat::Number(std::string_view field,
                                        std::initializer_list<size_t> sizes) const {
  const Field* found = Find(field);
  if (found == nullptr) return Unusable(field, "is missing");
  auto layout = Layout(*found);
  if (!layout) return layout.error();
  if (found->is_array || found->kind != FieldKind::kPlain) {
    return Unusable(field, "is an array where a number is expected");
  }
  if (std::find(sizes.begin(), sizes.end(), layout->size) == sizes.end()) {
    return Unusable(field, fmt::format("has size {} where {} is expected", layout->size,
                                       fmt::join(sizes, " or ")));
  }
  return layout;
}

Result<FieldLayout> EventFormat::Words(std::string_view field) const {
  const Field* found = Find(field);
  if (found == nullptr) return Unusable(field, "is missing");
  auto layout = Layout(*found);
  if (!layout) return layout.error();
  if (!found->is_array || found->kind != FieldKind::kPlain) {
    return Unusable(field, "is not an array where one is expected");
  }
  return layout;
}

Result<FieldLayout> EventFormat::Text(std::string_view field) const {
  const Field* found = Find(field);
  if (found == nullptr) return Unusable(field, "is missing");
  auto layout = Layout(*found);
  if (!layout) return layout.error();
  if (!found->is_array && found->kind == FieldKind::kPlain) {
    return Unusable(field, "is a number where text is expected");
  }
  if (found->kind != FieldKind::kPlain && found->size != 4) {
    return Unusable(field, fmt::format("has size {} where 4 is expected", found->size));
  }
  return layout;
}

}  // namespace offcpu::kernel_compat
