// SPDX-License-Identifier: MIT
#pragma once

#include "source/replay/perf_reader.h"
#include "source/replay/recording.h"

namespace offcpu::source::replay {

// Reads the whole recording.
RecordingInfo DescribePerf(PerfReader& reader);

}  // namespace offcpu::source::replay
