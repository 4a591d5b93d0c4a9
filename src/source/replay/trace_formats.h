// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kernel-compat/task_state.h"
#include "source/replay/file_bytes.h"
#include "source/tracefs/decode.h"

namespace offcpu::source::replay {

// Format texts of a recording's events by "system/event".
using FormatTexts = std::map<std::string, std::string>;

// The parts of trace-cmd's header that hold texts of tracefs (trace-cmd.dat.v6(5)). What is cut
// leaves `bytes` not ok(); what was read up to there stays.
std::string ReadHeaderPage(FileBytes& bytes);
void ReadFtraceFormats(FileBytes& bytes, FormatTexts* texts);
void ReadEventFormats(FileBytes& bytes, FormatTexts* texts);

// Formats of the events that were recorded, as the decoder of traces wants them. Only sched_switch
// must be there.
Result<tracefs::Formats> MakeFormats(const FormatTexts& texts,
                                     std::optional<kernel_compat::KernelRelease> release);

}  // namespace offcpu::source::replay
