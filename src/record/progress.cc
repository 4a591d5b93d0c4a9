// SPDX-License-Identifier: MIT
#include "record/progress.h"

#include <unistd.h>

#include <string>

#include <fmt/format.h>

namespace offcpu::record {
namespace {

constexpr char kToLineStartAndWipe[] = "\r\033[K";

void Print(const std::string& text) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

void Progress::Update(Nanos now, uint64_t count, const char* what, uint64_t lost) {
  if (!enabled_ || now < next_) return;
  next_ = now + kNanosPerSecond;
  shown_ = true;
  std::string line = fmt::format("{}offcpu: recording {} s, {} {}", kToLineStartAndWipe,
                                 (now - start_) / kNanosPerSecond, count, what);
  if (lost != 0) line += fmt::format(", {} events lost", lost);
  Print(line + " (Ctrl-C ends)");
}

Progress::~Progress() {
  if (shown_) Print(kToLineStartAndWipe);
}

}  // namespace offcpu::record
