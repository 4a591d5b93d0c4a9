// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"
#include "model/stack.h"
#include "symbolize/symbolizer.h"

namespace offcpu::symbolize {

// The file that a module of a recording was mapped from: below Options::below, at its path here, in
// perf's own collection (~/.debug) or where distributions keep files by build-id. Where the
// recording has the module's build-id, the file must have it too. Where it has none, a file below
// Options::below is trusted, and one at its path here only if the recording was made on this
// machine and device and inode are the module's. An error tells the last reason.
Result<UniqueFd> OpenRecordedFile(const Options& options, const model::Module& module);

}  // namespace offcpu::symbolize
