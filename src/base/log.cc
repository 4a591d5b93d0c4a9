// SPDX-License-Identifier: MIT
#include "base/log.h"

#include <unistd.h>

#include <atomic>
#include <string>

namespace offcpu {
namespace {

std::atomic<LogLevel> log_level{LogLevel::kNormal};  // set once by main, before any thread

// One write, so that lines of two threads or processes don't mix.
void Print(std::string_view text) {
  std::string line = "offcpu: ";
  line.append(text).push_back('\n');
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

void SetLogLevel(LogLevel level) { log_level = level; }
LogLevel GetLogLevel() { return log_level; }
void LogWarning(std::string_view text) { Print(text); }
void LogInfo(std::string_view text) {
  if (log_level != LogLevel::kQuiet) Print(text);
}
void LogVerbose(std::string_view text) {
  if (log_level == LogLevel::kVerbose) Print(text);
}

}  // namespace offcpu
