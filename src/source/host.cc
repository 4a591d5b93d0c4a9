// SPDX-License-Identifier: MIT
#include "source/host.h"

#include <linux/capability.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/files.h"
#include "base/parse.h"
#include "source/tracefs_files.h"

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

namespace {

std::string FileFact(const char* path) {
  const auto text = ReadSmallFile(path);
  if (text) return std::string(Trim(*text));
  return ::access(path, F_OK) == 0 ? "not readable" : "not there";
}

std::string TracefsFact() {
  const auto files = TracefsFiles::Find();
  return files ? files->root() : files.error().message;
}

// Those that matter here, of CapEff in /proc/self/status; numbers from <linux/capability.h>.
std::string CapabilityFact() {
  struct Capability {
    unsigned number;
    const char* name;
  };
  constexpr Capability kCapabilities[] = {
      {CAP_DAC_READ_SEARCH, "dac_read_search"},
      {CAP_IPC_LOCK, "ipc_lock"},
      {CAP_SYS_PTRACE, "sys_ptrace"},
      {CAP_SYS_ADMIN, "sys_admin"},
      {CAP_SYS_NICE, "sys_nice"},
      {CAP_SYSLOG, "syslog"},
      {CAP_PERFMON, "perfmon"},
      {CAP_BPF, "bpf"},
  };
  const auto status = ReadSmallFile("/proc/self/status");
  if (!status) return "not readable";
  constexpr std::string_view kField = "CapEff:";
  const size_t at = status->find(kField);
  if (at == std::string::npos) return "not there";
  const std::string_view text = Trim(std::string_view(*status).substr(at + kField.size(), 20));
  const uint64_t effective = std::strtoull(std::string(text).c_str(), nullptr, 16);
  std::vector<std::string_view> names;
  for (const Capability& each : kCapabilities) {
    if ((effective >> each.number & 1) != 0) names.push_back(each.name);
  }
  return names.empty() ? "none of use" : fmt::format("{}", fmt::join(names, ","));
}

}  // namespace

std::vector<HostFact> HostFacts() {
  utsname name{};
  const bool named = ::uname(&name) == 0;
  return {{"kernel", named ? fmt::format("{} {}", name.release, name.machine) : "unknown"},
          {"kernel.perf_event_paranoid", FileFact("/proc/sys/kernel/perf_event_paranoid")},
          {"kernel.perf_event_mlock_kb", FileFact("/proc/sys/kernel/perf_event_mlock_kb")},
          {"kernel.perf_event_max_stack", FileFact("/proc/sys/kernel/perf_event_max_stack")},
          {"kernel.kptr_restrict", FileFact("/proc/sys/kernel/kptr_restrict")},
          {"tracefs", TracefsFact()},
          {"BTF", ::access("/sys/kernel/btf/vmlinux", R_OK) == 0 ? "readable" : "not there"},
          {"pid namespace", InOwnPidNamespace() ? "its own" : "the initial one"},
          {"user", fmt::format("{}", ::geteuid())},
          {"capabilities", CapabilityFact()}};
}

}  // namespace offcpu::source
