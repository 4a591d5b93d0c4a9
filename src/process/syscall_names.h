// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace offcpu::process {

// The name of a system call of this machine's native programs, "futex"; empty when the headers this
// program was built with don't know the number.
std::string_view SyscallName(int number);

}  // namespace offcpu::process
