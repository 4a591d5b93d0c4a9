// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "source/replay/recording.h"

namespace offcpu::source::replay {

// Opens a recording by what its first bytes say it is, or a folder of raw trace pages; "-" is
// standard input. `formats`: where the event formats of such a folder are; empty: in it. An error
// names the file, and what it is instead where that can be told.
Result<std::unique_ptr<Recording>> OpenRecording(const std::string& path,
                                                 const std::string& formats = {});

// Reads a whole recording to tell what is in it.
Result<RecordingInfo> DescribeRecording(const std::string& path, const std::string& formats = {});

}  // namespace offcpu::source::replay
