// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "source/check.h"

namespace offcpu::source::proc {

// Tries on the caller's own threads what the `proc` back end reads of a target's.
std::vector<Check> CheckProc();

}  // namespace offcpu::source::proc
