// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

// What tells the running kernel from others, and this boot of it: its addresses may be others after
// the next (KASLR).
namespace offcpu::symbolize {

// Raw bytes, from /sys/kernel/notes; empty where it can't be read or has none.
std::string RunningKernelBuildId(const std::string& notes = "/sys/kernel/notes");

// Where the kernel has a symbol; nothing where kallsyms has none of the name, or hides addresses.
std::optional<uint64_t> RunningKernelAddress(const std::string& symbol,
                                             const std::string& kallsyms = "/proc/kallsyms");

}  // namespace offcpu::symbolize
