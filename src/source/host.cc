// SPDX-License-Identifier: MIT
#include "source/host.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/files.h"
#include "base/parse.h"

namespace offcpu::source {

Result<std::vector<model::Cpu>> OnlineCpus() {
  const std::string path = "/sys/devices/system/cpu/online";
  auto text = ReadSmallFile(path);
  if (!text) return text.error();
  return ParseCpuList(*text);
}

uint32_t KernelMaxStack() {
  uint32_t limit = 127;
  const auto text = ReadSmallFile("/proc/sys/kernel/perf_event_max_stack");
  if (!text || !ParseNumber(Trim(*text), &limit)) return 127;
  return limit;
}

Result<uint32_t> ChooseMaxStack(uint32_t wanted) {
  const uint32_t limit = KernelMaxStack();
  if (wanted <= limit) return wanted == 0 ? limit : wanted;
  return UsageError(
      fmt::format("--max-stack {} is more than the kernel's limit of {}", wanted, limit),
      fmt::format("raise it while nothing is being recorded: sysctl kernel.perf_event_max_stack={}",
                  wanted));
}

bool InOwnPidNamespace() {
  // PROC_PID_INIT_INO (include/linux/proc_ns.h) names the initial one.
  char target[64];
  const ssize_t length = ::readlink("/proc/self/ns/pid", target, sizeof(target));
  return length > 0 && std::string_view(target, static_cast<size_t>(length)) != "pid:[4026531836]";
}

std::optional<kernel_compat::KernelRelease> RunningRelease() {
  utsname name{};
  if (::uname(&name) != 0) return std::nullopt;
  const auto release = kernel_compat::ParseKernelRelease(name.release);
  if (!release) return std::nullopt;
  return *release;
}

}  // namespace offcpu::source
