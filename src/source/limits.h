// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "base/result.h"

namespace offcpu::source {

// Raises the soft limit of open files to the hard one, then checks that `needed` more fit beside
// what is open already. The error names both numbers.
Result<void> EnsureDescriptors(size_t needed);

}  // namespace offcpu::source
