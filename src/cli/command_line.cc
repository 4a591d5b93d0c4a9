// SPDX-License-Identifier: MIT
#include "cli/command_line.h"

#include <algorithm>

#include "base/files.h"

namespace offcpu::cli {

std::string OwnCommandLine() {
  std::string text = ReadSmallFile("/proc/self/cmdline").value_or("");
  if (!text.empty() && text.back() == '\0') text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

}  // namespace offcpu::cli
