// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "source/replay/recording.h"

namespace offcpu::cli {

// What `import --info` shows.
std::string ImportInfoText(const source::replay::RecordingInfo& info);
std::string ImportInfoJson(const source::replay::RecordingInfo& info);

}  // namespace offcpu::cli
