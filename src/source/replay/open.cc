// SPDX-License-Identifier: MIT
#include "source/replay/open.h"

#include <filesystem>
#include <optional>
#include <utility>

#include "source/replay/format.h"
#include "source/replay/perf_info.h"
#include "source/replay/perf_replay.h"
#include "source/replay/text_replay.h"
#include "source/replay/trace_dat.h"

namespace offcpu::source::replay {
namespace {

constexpr size_t kTextToLookAt = 64U << 10;

std::string NameOf(const std::string& path) { return path == "-" ? "standard input" : path; }

Error WithName(Error error, const std::string& path) {
  error.message = "import " + NameOf(path) + ": " + error.message;
  return error;
}

// What a recording is, opened as far as that.
struct Opened {
  Format format = Format::kUnknown;
  std::optional<Input> input;         // of kPerfData and kText
  std::optional<RingRecording> ring;  // of kTraceDat and kFolder
};

Result<Opened> OpenRing(Format format, Result<RingRecording> ring) {
  if (!ring) return ring.error();
  return Opened{format, std::nullopt, std::move(*ring)};
}

Result<Opened> OpenByFormat(const std::string& path, const std::string& formats) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return OpenRing(Format::kFolder, OpenRingFolder(path, formats));
  }
  auto input = Input::Open(path);
  if (!input) return input.error();
  Format format = DetectFormat(input->Peek(kMagicBytes));
  if (format == Format::kUnknown) {
    const auto head = input->Peek(kTextToLookAt);
    const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
    if (TextReplay::LooksLikeOne(text)) format = Format::kText;
  }
  if (input->error()) return *input->error();
  if (format == Format::kTraceDat) {
    if (path != "-") return OpenRing(format, OpenTraceDat(path));
    return Failed("a trace.dat can't be read from a pipe", "give its name");
  }
  if (format != Format::kPerfData && format != Format::kText) {
    return RefuseFormat(format, NameOf(path));
  }
  return Opened{format, std::move(*input), std::nullopt};
}

Result<Opened> OpenNamed(const std::string& path, const std::string& formats) {
  auto opened = OpenByFormat(path, formats);
  if (!opened && !opened.error().message.starts_with("import ")) {
    return WithName(opened.error(), path);
  }
  return opened;
}

}  // namespace

Result<std::unique_ptr<Recording>> OpenRecording(const std::string& path,
                                                 const std::string& formats) {
  auto opened = OpenNamed(path, formats);
  if (!opened) return opened.error();
  if (opened->ring) {
    return std::unique_ptr<Recording>(std::make_unique<RingReplay>(std::move(*opened->ring)));
  }
  if (opened->format == Format::kText) {
    return std::unique_ptr<Recording>(std::make_unique<TextReplay>(std::move(*opened->input)));
  }
  auto reader = PerfReader::Open(std::move(*opened->input));
  if (!reader) return WithName(reader.error(), path);
  return std::unique_ptr<Recording>(std::make_unique<PerfReplay>(std::move(*reader)));
}

Result<RecordingInfo> DescribeRecording(const std::string& path, const std::string& formats) {
  auto opened = OpenNamed(path, formats);
  if (!opened) return opened.error();
  if (opened->ring) return RingReplay(std::move(*opened->ring)).Describe();
  if (opened->format == Format::kText) return TextReplay(std::move(*opened->input)).Describe();
  auto reader = PerfReader::Open(std::move(*opened->input));
  if (!reader) return WithName(reader.error(), path);
  return DescribePerf(**reader);
}

}  // namespace offcpu::source::replay
