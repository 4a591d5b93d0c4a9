// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace offcpu::model {

using Pid =
    int32_t;  // a process (the kernel's tgid); ids are those of the recorder's pid namespace
using Tid = int32_t;  // a thread (the kernel's pid); 0 is a CPU's idle task
using Cpu = int32_t;

// PID_MAX_LIMIT of 64-bit kernels (include/linux/threads.h). A larger id in a record means that its
// fields were read at wrong places.
constexpr Tid kMaxTid = 1 << 22;
constexpr bool IsPossibleTid(int64_t id) { return id >= 0 && id <= kMaxTid; }

// Position of a raw stack in the recorder's table; 0 is "no stack".
using StackId = uint32_t;

// Position of a row of thread accounts; 0 is "none". A reused tid gets a new row.
using ThreadRow = uint32_t;

}  // namespace offcpu::model
