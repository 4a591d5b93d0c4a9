// SPDX-License-Identifier: MIT
#include "source/replay/format.h"

#include <string_view>

namespace offcpu::source::replay {

Format DetectFormat(std::span<const std::byte> head) {
  using namespace std::string_view_literals;
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  if (text.starts_with("PERFILE2"sv) || text.starts_with("2ELIFREP"sv)) return Format::kPerfData;
  if (text.starts_with("PERFFILE"sv)) return Format::kPerfData;  // before 2012
  if (text.starts_with("\x17\x08\x44tracing"sv)) return Format::kTraceDat;
  if (text.starts_with("\x1f\x8b"sv)) return Format::kGzip;
  if (text.starts_with("OFFCPUPRF"sv)) return Format::kProfile;
  return Format::kUnknown;
}

Error RefuseFormat(Format format, const std::string& path) {
  const std::string what = "import " + path + ": ";
  switch (format) {
    case Format::kGzip:
      return Failed(what + "the file is compressed by gzip", "unpack it first: gzip -d");
    case Format::kProfile:
      return Failed(what + "this is a profile of offcpu already",
                    "look at it with: offcpu info " + path);
    default:
      return Failed(
          what + "not a recording that offcpu knows",
          "recordings of perf and trace-cmd, raw trace pages, and scheduler events as text can be "
          "imported");
  }
}

}  // namespace offcpu::source::replay
