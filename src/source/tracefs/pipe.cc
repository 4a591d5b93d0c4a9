// SPDX-License-Identifier: MIT
#include "source/tracefs/pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/files.h"
#include "base/parse.h"

namespace offcpu::source::tracefs {

std::optional<RingStats> ParseRingStats(std::string_view text) {
  RingStats stats;
  bool overrun_found = false;
  for (std::string_view line : Split(text, '\n')) {
    const size_t colon = line.find(':');
    uint64_t value = 0;
    if (colon == std::string_view::npos || !ParseNumber(Trim(line.substr(colon + 1)), &value)) {
      continue;
    }
    const std::string_view name = line.substr(0, colon);
    if (name == "overrun") {
      stats.overrun = value;
      overrun_found = true;
    }
    if (name == "commit overrun" || name == "dropped events") stats.dropped += value;
  }
  if (!overrun_found) return std::nullopt;
  return stats;
}

CpuPipe::CpuPipe(UniqueFd fd, std::string directory)
    : fd_(std::move(fd)), directory_(std::move(directory)) {}

Result<CpuPipe> CpuPipe::Open(const std::string& directory) {
  const std::string path = directory + "/trace_pipe_raw";
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (fd.get() < 0) return SystemError("open " + path);
  return CpuPipe(std::move(fd), directory);
}

// read(2), not splice(2): that one leaves out a page that is still being written.
Result<bool> CpuPipe::ReadPage(std::span<std::byte> page) {
  ssize_t got = 0;
  do {
    got = ::read(fd_.get(), page.data(), page.size());
  } while (got < 0 && errno == EINTR);
  if (got == 0 || (got < 0 && errno == EAGAIN)) return false;
  if (got < 0) return SystemError("read " + directory_ + "/trace_pipe_raw");
  if (static_cast<size_t>(got) != page.size()) {
    return Failed("read " + directory_ + "/trace_pipe_raw: " + std::to_string(got) +
                  " bytes came instead of a page");
  }
  return true;
}

std::optional<RingStats> CpuPipe::ReadStats() {
  const auto text = ReadSmallFile(directory_ + "/stats", 1U << 16);
  return text ? ParseRingStats(*text) : std::nullopt;
}

}  // namespace offcpu::source::tracefs
