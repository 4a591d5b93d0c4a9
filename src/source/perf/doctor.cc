// SPDX-License-Identifier: MIT
#include "source/perf/doctor.h"

#include <unistd.h>

#include <fmt/format.h>

#include "base/files.h"
#include "source/host.h"
#include "source/limits.h"
#include "source/perf/attr.h"
#include "source/perf/perf_source.h"
#include "source/perf/switch_source.h"
#include "source/tracefs_files.h"

namespace offcpu::source::perf {
namespace {

using Status = Check::Status;

Check CheckEvents() {
  const char* name = "perf_event_open, all CPUs";
  perf_event_attr attr = SidebandAttr(4096);
  const auto fd = OpenEvent(&attr, Scope{});
  if (!fd) return Lacks(name, fd.error());
  return Works(name, fmt::format("allowed (kernel.perf_event_paranoid is {})", ParanoidLevel()));
}

Check CheckLossCounts() {
  perf_event_attr attr = RingOwnerAttr(4096);
  attr.exclude_kernel = 1;
  const auto fd = OpenEvent(&attr, {.tid = 0});
  const bool counted = fd && (attr.read_format & PERF_FORMAT_LOST) != 0;
  Check check = Works("counts of lost events", counted ? "kept by the kernel" : "not kept");
  check.needed = false;
  if (!counted) {
    check.status = Status::kLimited;
    check.remedy = "Linux 6.0 counts them; before, a full ring is taken for a loss";
  }
  return check;
}

Check CheckTracepoint(const char* event) {
  const std::string name = fmt::format("sched:{}", event);
  const auto files = TracefsFiles::Find();
  if (!files) return Lacks(name, files.error());
  const auto text = files->ReadFormat("sched", event);
  if (!text) return Lacks(name, text.error());
  return Works(name, "format readable at " + files->root());
}

Check CheckTracefs() {
  const auto files = TracefsFiles::Find();
  return files ? Works("tracefs", files->root()) : Lacks("tracefs", files.error());
}

// The whole thing, as record does it.
Check CheckRecording(std::vector<model::Cpu>* covered, size_t* cpus) {
  const char* name = "recording";
  Request request;
  request.read_exec_start = [](model::Tid) { return std::optional<Nanos>(); };
  auto source = PerfSource::Open(request);
  if (!source) return Lacks(name, source.error());
  *covered = (*source)->covered_cpus();
  // A busy CPU's idle task was not met: that says nothing.
  for (model::Cpu cpu : (*source)->undecided_cpus()) std::erase(*covered, cpu);
  *cpus = (*source)->cpu_count();
  Check check = Works(name, fmt::format("{} CPUs", *cpus));
  if (!(*source)->warnings().empty()) {
    check.status = Status::kLimited;
    check.remedy = fmt::format("{}", fmt::join((*source)->warnings(), "; "));
  }
  return check;
}

Check CheckIdle(const std::vector<model::Cpu>& covered) {
  if (covered.empty())
    return Optional(Works("idle tasks", "none was found to be hidden from tracepoints"));
  Check check = Works("idle tasks",
                      fmt::format("hidden from tracepoints on CPU {}", fmt::join(covered, ",")));
  check.status = Status::kLimited;
  check.needed = false;
  check.remedy = "nothing to do: switch records take their place there, at some more cost";
  return check;
}

Check CheckKernelSymbols() {
  const char* name = "kernel symbols";
  const auto text = ReadSmallFile("/proc/kallsyms");
  if (!text) return Optional(Lacks(name, text.error()));
  for (std::string_view line : Split(*text, '\n')) {
    if (line.find_first_not_of('0') != line.find(' ')) {
      return Optional(Works(name, "addresses readable in /proc/kallsyms"));
    }
  }
  return Optional(
      Lacks(name, MakeError(ErrorCode::kPermission, "addresses in /proc/kallsyms are hidden",
                            "set kernel.kptr_restrict to 0 or 1 and give CAP_SYSLOG")));
}

Check CheckSleeperStacks() {
  const char* name = "stacks of threads asleep before the start";
  const auto text = ReadSmallFile("/proc/self/stack");
  if (text) return Optional(Works(name, "/proc/PID/stack readable"));
  return Optional(Lacks(
      name,
      text.error().WithHint("only root reads /proc/PID/stack; a marker frame stands for it")));
}

// ---- the `switch` back end

Check CheckOwnThreads(const Result<SwitchRights>& rights) {
  const char* name = "switch records of one's own threads";
  if (!rights) return Lacks(name, rights.error());
  return Works(name, fmt::format("allowed (kernel.perf_event_paranoid is {})", ParanoidLevel()));
}

Check CheckAllThreads(const SwitchRights& rights) {
  const char* name = "switch records of all threads";
  if (rights.all_threads) return Optional(Works(name, "allowed"));
  return Optional(Lacks(
      name, MakeError(ErrorCode::kPermission, "refused: -a and --cgroup are not possible",
                      "run as root, give CAP_PERFMON, or set kernel.perf_event_paranoid to 0")));
}

Check CheckStacks(const SwitchRights& rights) {
  const char* name = "stacks of switch-outs";
  if (rights.kernel_stacks) return Optional(Works(name, "kernel and user"));
  return Optional(
      Lacks(name, MakeError(ErrorCode::kPermission, "refused: durations only",
                            "give CAP_PERFMON, or set kernel.perf_event_paranoid to 1 or less")));
}

}  // namespace

std::vector<Check> CheckSwitch() {
  const auto cpus = OnlineCpus();
  if (!cpus) return {Lacks("online CPUs", cpus.error())};
  const auto rights = ProbeSwitchRights(cpus->empty() ? 0 : cpus->front());
  std::vector<Check> checks = {CheckOwnThreads(rights)};
  if (!rights) return checks;
  checks.push_back(CheckAllThreads(*rights));
  checks.push_back(CheckStacks(*rights));
  checks.push_back(CheckLossCounts());
  if (rights->kernel_stacks) checks.push_back(CheckKernelSymbols());
  return checks;
}

std::vector<Check> CheckPerf() {
  std::vector<model::Cpu> covered;
  size_t cpus = 0;
  std::vector<Check> checks;
  const Check recording = CheckRecording(&covered, &cpus);
  checks.push_back(recording);
  checks.push_back(CheckEvents());
  checks.push_back(CheckTracefs());
  checks.push_back(CheckTracepoint("sched_switch"));
  checks.push_back(Optional(CheckTracepoint("sched_wakeup")));
  checks.push_back(CheckLossCounts());
  if (cpus != 0) checks.push_back(CheckIdle(covered));
  checks.push_back(CheckKernelSymbols());
  checks.push_back(CheckSleeperStacks());
  return checks;
}

}  // namespace offcpu::source::perf
