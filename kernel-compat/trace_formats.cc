// SPDX-License-Identifier: MIT
#include "kernel-compat/trace_formats.h"

#include <cstring>
#include <limits>

#include "base/files.h"
#include "base/parse.h"
#include "kernel-compat/field_reader.h"

namespace offcpu::kernel_compat {
namespace {

// FTRACE_STACK_ENTRIES: what the formats declare, whatever a record holds.
constexpr size_t kDeclaredEntries = 8;

constexpr size_t kMaxPageSize = 1U << 20;

Result<void> ReadCaller(const EventFormat& event, StackFormat* format) {
  auto caller = event.Words("caller");
  if (!caller) return caller.error();
  format->id = event.id();
  format->caller = *caller;
  format->word = caller->size / kDeclaredEntries;
  if (caller->size != kDeclaredEntries * 8 && caller->size != kDeclaredEntries * 4) {
    return MakeError(ErrorCode::kUnsupported, "a stack event's caller holds " +
                                                  std::to_string(caller->size) +
                                                  " bytes where 8 addresses are expected");
  }
  return {};
}

uint64_t LoadWord(const std::byte* at, size_t word) {
  uint64_t wide = 0;
  uint32_t narrow = 0;
  if (word == sizeof(wide)) {
    std::memcpy(&wide, at, sizeof(wide));
    return wide;
  }
  std::memcpy(&narrow, at, sizeof(narrow));
  return narrow == std::numeric_limits<uint32_t>::max() ? ~uint64_t{0} : narrow;
}

// "offset:8" of a line "field: local_t commit; offset:8; size:8; signed:1;".
bool TakePart(std::string_view part, std::string_view key, size_t* value) {
  part = Trim(part);
  return part.starts_with(key) && ParseNumber(part.substr(key.size()), value) &&
         *value <= kMaxPageSize;
}

}  // namespace

Result<RecordHead> ParseRecordHead(std::string_view text, std::string_view event_name) {
  auto event = EventFormat::Parse(text, event_name);
  if (!event) return event.error();
  FieldReader fields(*event);
  RecordHead head;
  head.type = fields.Number("common_type", {2});
  head.pid = fields.Pid("common_pid");
  if (fields.error()) return *fields.error();
  return head;
}

Result<StackFormat> ParseKernelStackFormat(std::string_view text) {
  auto event = EventFormat::Parse(text, "kernel_stack");
  if (!event) return event.error();
  StackFormat format;
  if (auto caller = ReadCaller(*event, &format); !caller) return caller.error();
  auto count = event->Number("size", {4});
  if (!count) return count.error();
  format.count = *count;
  return format;
}

Result<StackFormat> ParseUserStackFormat(std::string_view text) {
  auto event = EventFormat::Parse(text, "user_stack");
  if (!event) return event.error();
  StackFormat format;
  if (auto caller = ReadCaller(*event, &format); !caller) return caller.error();
  auto tgid = event->Number("tgid", {4});
  if (!tgid) return tgid.error();
  format.tgid = *tgid;
  return format;
}

bool ReadStack(std::span<const std::byte> raw, const StackFormat& format,
               std::vector<uint64_t>* addresses) {
  addresses->clear();
  const size_t begin = format.caller.offset;
  if (raw.size() < begin || format.word == 0) return false;
  size_t count = (raw.size() - begin) / format.word;
  if (format.count.present()) {
    const int64_t told = ReadField(raw, format.count);
    if (told < 0 || static_cast<uint64_t>(told) > count) return false;
    count = static_cast<size_t>(told);
  } else {
    count = std::min(count, kDeclaredEntries);
  }
  for (size_t i = 0; i < count; ++i) {
    const uint64_t address = LoadWord(raw.data() + begin + i * format.word, format.word);
    // Zeros fill up a short user stack; all ones ended a stack before Linux 5.2; INT_MAX stands for
    // a trampoline of the tracer (FTRACE_TRAMPOLINE_MARKER).
    if (address == 0 || address == ~uint64_t{0}) break;
    if (address == std::numeric_limits<int32_t>::max()) continue;
    addresses->push_back(address);
  }
  return true;
}

Result<PageLayout> ParsePageLayout(std::string_view text) {
  PageLayout layout;
  size_t timestamp_size = 0;
  size_t timestamp_offset = 1;
  for (std::string_view line : Split(text, '\n')) {
    const auto parts = Split(line, ';');
    size_t offset = 0;
    size_t size = 0;
    if (parts.size() < 3 || !TakePart(parts[1], "offset:", &offset) ||
        !TakePart(parts[2], "size:", &size)) {
      continue;
    }
    if (parts[0].ends_with(" timestamp")) {
      timestamp_offset = offset;
      timestamp_size = size;
    } else if (parts[0].ends_with(" commit")) {
      layout.commit_offset = offset;
      layout.commit_size = size;
    } else if (parts[0].ends_with(" data")) {
      layout.data_offset = offset;
      layout.data_size = size;
    }
  }
  // libtraceevent's kbuffer knows no other.
  const bool known = timestamp_offset == 0 && timestamp_size == 8 && layout.commit_offset == 8 &&
                     (layout.commit_size == 8 || layout.commit_size == 4) &&
                     layout.data_offset == 8 + layout.commit_size && layout.data_size >= 64 &&
                     layout.data_size % 4 == 0;
  if (!known) {
    return MakeError(ErrorCode::kUnsupported,
                     "the ring pages of this kernel have a form not known (events/header_page)");
  }
  return layout;
}

}  // namespace offcpu::kernel_compat
