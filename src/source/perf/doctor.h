// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "source/check.h"

namespace offcpu::source::perf {

// Tries everything that a recording would do, on this machine and as this user, and undoes it.
std::vector<Check> CheckPerf();
std::vector<Check> CheckSwitch();

}  // namespace offcpu::source::perf
