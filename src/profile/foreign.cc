// SPDX-License-Identifier: MIT
#include "profile/foreign.h"

#include <fmt/format.h>

#include <algorithm>

namespace offcpu::profile {

namespace {

using namespace std::string_view_literals;

constexpr std::string_view kRecordHint = "`offcpu record -o FILE ...` writes a profile";

struct Kind {
  std::string_view magic;
  std::string_view looks_like;
  std::string_view hint;
};

constexpr Kind kKinds[] = {
    {"JONOFFPRF"sv, "a profile of jonoffcpu", "this version reads profiles of offcpu only"},
    {"JONOFFCPU"sv, "a capture of jonoffcpu", "this version reads profiles of offcpu only"},
    {"PERFILE2"sv, "a perf.data file", kRecordHint},
    {"2ELIFREP"sv, "a perf.data file", kRecordHint},
    {"PERFFILE"sv, "a perf.data file", kRecordHint},
    {"FLR\0"sv, "a JDK Flight Recorder file", kRecordHint},
    {"\x17\x08\x44tracing"sv, "a trace.dat file", kRecordHint},
    {"\x7f"
     "ELF"sv,
     "a program or library", "`offcpu record -o FILE -- COMMAND` records a command"},
    {"\x1f\x8b"sv, "a gzip file", "uncompress it first, if a profile is inside"},
    {"\x28\xb5\x2f\xfd"sv, "a zstd file", "uncompress it first, if a profile is inside"},
    {"\xfd"
     "7zXZ\0"sv,
     "an xz file", "uncompress it first, if a profile is inside"},
};

bool IsText(std::string_view bytes) {
  return std::none_of(bytes.begin(), bytes.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7f;
  });
}

// "frame;frame 123"
bool IsCollapsed(std::string_view line) {
  const size_t digits = line.find_last_not_of("0123456789");
  return digits != std::string_view::npos && digits + 1 < line.size() && line[digits] == ' ' &&
         line.find(';') < digits;
}

std::string_view TextKind(std::string_view head) {
  const std::string_view line = head.substr(0, std::min(head.find('\n'), head.size()));
  if (IsCollapsed(line)) return "collapsed stacks";
  if (line.starts_with('{') || line.starts_with('[')) return "JSON";
  if (line.starts_with('<')) return "an SVG, HTML or XML file";
  return "text";
}

}  // namespace

Error NotAProfile(std::string_view bytes, const std::string& name) {
  const auto refuse = [&](std::string_view looks_like, std::string_view hint) {
    return Failed(fmt::format("{} is not an offcpu profile: {}", name, looks_like),
                  std::string(hint));
  };
  if (bytes.empty()) return refuse("it is empty", kRecordHint);
  for (const Kind& kind : kKinds) {
    if (bytes.starts_with(kind.magic))
      return refuse(fmt::format("it looks like {}", kind.looks_like), kind.hint);
  }
  const std::string_view head = bytes.substr(0, 4096);
  if (IsText(head)) return refuse(fmt::format("it looks like {}", TextKind(head)), kRecordHint);
  return refuse("it does not begin with \"OFFCPUPRF\"", kRecordHint);
}

}  // namespace offcpu::profile
