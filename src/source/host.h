// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "kernel-compat/task_state.h"
#include "model/ids.h"

// What back ends ask of the machine.
namespace offcpu::source {

// /sys/devices/system/cpu/online.
Result<std::vector<model::Cpu>> OnlineCpus();

// The kernel's limit of frames in a chain, kernel.perf_event_max_stack (Linux 4.8; 127 before).
uint32_t KernelMaxStack();

// The limit for a recording that wants `wanted` frames, 0 for the kernel's; an error (kUsage) when
// that is more than the kernel's.
Result<uint32_t> ChooseMaxStack(uint32_t wanted);

// Whether the pid namespace is another than the initial one, whose ids tracepoints carry.
bool InOwnPidNamespace();

// Of uname(2); nothing where it is no version number.
std::optional<kernel_compat::KernelRelease> RunningRelease();

// What decides over back ends: versions, sysctls, mounts and capabilities, as they are. The same
// names in the same order on every machine; "not there" for what a machine does not have.
struct HostFact {
  std::string name;
  std::string value;
};
std::vector<HostFact> HostFacts();

}  // namespace offcpu::source
