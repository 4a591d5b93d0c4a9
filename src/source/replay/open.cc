// SPDX-License-Identifier: MIT
#include "source/replay/open.h"

#include <utility>

#include "source/replay/format.h"
#include "source/replay/perf_info.h"
#include "source/replay/perf_replay.h"
#include "source/replay/text_replay.h"

namespace offcpu::source::replay {
namespace {

constexpr size_t kTextToLookAt = 64U << 10;

std::string NameOf(const std::string& path) { return path == "-" ? "standard input" : path; }

Error WithName(Error error, const std::string& path) {
  error.message = "import " + NameOf(path) + ": " + error.message;
  return error;
}

// The input, and what its first bytes say it is; an error when that is nothing we read.
struct Opened {
  Input input;
  Format format;
};
Result<Opened> OpenInput(const std::string& path) {
  auto input = Input::Open(path);
  if (!input) return input.error();
  Format format = DetectFormat(input->Peek(kMagicBytes));
  if (format == Format::kUnknown) {
    const auto head = input->Peek(kTextToLookAt);
    const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
    if (TextReplay::LooksLikeOne(text)) format = Format::kText;
  }
  if (input->error()) return *input->error();
  if (format != Format::kPerfData && format != Format::kText) {
    return RefuseFormat(format, NameOf(path));
  }
  return Opened{std::move(*input), format};
}

}  // namespace

Result<std::unique_ptr<Recording>> OpenRecording(const std::string& path) {
  auto opened = OpenInput(path);
  if (!opened) return opened.error();
  if (opened->format == Format::kText) {
    return std::unique_ptr<Recording>(std::make_unique<TextReplay>(std::move(opened->input)));
  }
  auto reader = PerfReader::Open(std::move(opened->input));
  if (!reader) return WithName(reader.error(), path);
  return std::unique_ptr<Recording>(std::make_unique<PerfReplay>(std::move(*reader)));
}

Result<RecordingInfo> DescribeRecording(const std::string& path) {
  auto opened = OpenInput(path);
  if (!opened) return opened.error();
  if (opened->format == Format::kText) return TextReplay(std::move(opened->input)).Describe();
  auto reader = PerfReader::Open(std::move(opened->input));
  if (!reader) return WithName(reader.error(), path);
  return DescribePerf(**reader);
}

}  // namespace offcpu::source::replay
