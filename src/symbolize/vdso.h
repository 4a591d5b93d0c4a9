// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"

namespace offcpu::symbolize {

// The kernel's vdso as a file, copied from this process: it is the same for all processes of the
// machine that run its native code.
Result<UniqueFd> CopyVdso();

}  // namespace offcpu::symbolize
