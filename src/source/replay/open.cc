// SPDX-License-Identifier: MIT
#include "source/replay/open.h"

#include <utility>

#include "source/replay/format.h"

namespace offcpu::source::replay {

Result<std::unique_ptr<PerfReader>> OpenReader(const std::string& path) {
  auto input = Input::Open(path);
  if (!input) return input.error();
  const std::string name = path == "-" ? "standard input" : path;
  const Format format = DetectFormat(input->Peek(kMagicBytes));
  if (input->error()) return *input->error();
  if (format != Format::kPerfData) return RefuseFormat(format, name);
  auto reader = PerfReader::Open(std::move(*input));
  if (reader) return reader;
  Error error = reader.error();
  error.message = "import " + name + ": " + error.message;
  return error;
}

Result<std::unique_ptr<PerfReplay>> OpenReplay(const std::string& path) {
  auto reader = OpenReader(path);
  if (!reader) return reader.error();
  return std::make_unique<PerfReplay>(std::move(*reader));
}

}  // namespace offcpu::source::replay
