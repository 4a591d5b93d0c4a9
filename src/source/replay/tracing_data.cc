// SPDX-License-Identifier: MIT
#include "source/replay/tracing_data.h"

#include "base/files.h"
#include "base/parse.h"
#include "source/replay/file_bytes.h"

namespace offcpu::source::replay {
namespace {

constexpr std::string_view kMagic("\x17\x08\x44tracing", 10);

std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// What follows `key` on a line of its own.
std::string_view LineValue(std::string_view text, std::string_view key) {
  for (std::string_view line : Split(text, '\n')) {
    if (line.starts_with(key)) return Trim(line.substr(key.size()));
  }
  return {};
}

void SkipSized(FileBytes& bytes) { bytes.Skip(bytes.Read<uint64_t>()); }

}  // namespace

Result<std::vector<FormatText>> ParseTracingData(std::span<const std::byte> data, bool swap,
                                                 std::string_view system) {
  FileBytes bytes(data, swap);
  if (AsText(bytes.Take(kMagic.size())) != kMagic) {
    return Failed("the recording's tracing data do not begin as they should");
  }
  bytes.TakeString();                     // version
  bytes.Skip(1 + 1 + 4);                  // byte order, size of long, page size
  for (int page = 0; page < 2; ++page) {  // header_page, header_event
    bytes.TakeString();
    SkipSized(bytes);
  }
  const auto ftrace_events = bytes.Read<uint32_t>();
  for (uint32_t i = 0; i < ftrace_events && bytes.ok(); ++i) SkipSized(bytes);
  std::vector<FormatText> formats;
  const auto systems = bytes.Read<uint32_t>();
  for (uint32_t i = 0; i < systems && bytes.ok(); ++i) {
    const std::string_view name = bytes.TakeString();
    const auto events = bytes.Read<uint32_t>();
    for (uint32_t event = 0; event < events && bytes.ok(); ++event) {
      const std::string_view text = AsText(bytes.Take(bytes.Read<uint64_t>()));
      if (name != system || !bytes.ok()) continue;
      FormatText format{std::string(name), std::string(LineValue(text, "name:")), std::string(text),
                        0};
      if (ParseNumber(LineValue(text, "ID:"), &format.id)) formats.push_back(std::move(format));
    }
  }
  if (!bytes.ok()) return Failed("the recording's tracing data are cut short");
  return formats;
}

}  // namespace offcpu::source::replay
