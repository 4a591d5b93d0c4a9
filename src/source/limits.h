// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "base/result.h"

namespace offcpu::source {

// Raises the soft limit of open files to the hard one, then checks that `needed` more fit beside
// what is open already and the few that a recording opens and closes again. The error names how
// many that is and the limit.
Result<void> EnsureDescriptors(size_t needed);

}  // namespace offcpu::source
