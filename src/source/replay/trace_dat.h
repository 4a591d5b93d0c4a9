// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "base/result.h"
#include "source/replay/ring_replay.h"

namespace offcpu::source::replay {

// The file of `trace-cmd record`, versions 6 and 7 (trace-cmd.dat.v6(5), trace-cmd.dat.v7(5)), of a
// machine of this one's byte order; the buffer of the top instance. What describes the recording is
// read into memory, its pages are not. An error says what is damaged or why it can't be used.
Result<RingRecording> OpenTraceDat(const std::string& path);

// A folder with per_cpu/cpuN/trace_pipe_raw as they were copied from tracefs, and the formats of
// the events in `formats`: events/SYSTEM/EVENT/format and, where it was kept, events/header_page.
// Empty: they are in the folder as well.
Result<RingRecording> OpenRingFolder(const std::string& path, const std::string& formats);

}  // namespace offcpu::source::replay
