// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "source/replay/perf_replay.h"

namespace offcpu::source::replay {

// Opens a recording for reading, whatever format it has; "-" is standard input. An error says what
// the file is instead, and what to do.
Result<std::unique_ptr<PerfReader>> OpenReader(const std::string& path);
Result<std::unique_ptr<PerfReplay>> OpenReplay(const std::string& path);

}  // namespace offcpu::source::replay
