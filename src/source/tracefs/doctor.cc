// SPDX-License-Identifier: MIT
#include "source/tracefs/doctor.h"

#include <fmt/format.h>

#include "source/host.h"
#include "source/tracefs/instance.h"
#include "source/tracefs/tracefs_source.h"
#include "source/tracefs_files.h"

namespace offcpu::source::tracefs {
namespace {

using Status = Check::Status;

Check CheckMount() {
  const char* name = "tracefs";
  const auto files = TracefsFiles::Find();
  return files ? Works(name, files->root()) : Lacks(name, files.error());
}

Check CheckPidNamespace() {
  const char* name = "pid namespace";
  if (!InOwnPidNamespace()) return Works(name, "the initial one");
  return Lacks(name, MakeError(ErrorCode::kUnsupported, "not the initial one",
                               "run offcpu outside the container, or use the back end perf"));
}

// The whole thing, as record does it.
Check CheckRecording() {
  const char* name = "recording";
  Request request;
  request.chains = {.kernel = false, .user = false};
  const auto source = TracefsSource::Open(request);
  if (!source) return Lacks(name, source.error());
  Check check = Works(name, fmt::format("{} CPUs", (*source)->cpu_count()));
  if (!(*source)->warnings().empty()) {
    check.status = Status::kLimited;
    check.remedy = fmt::format("{}", fmt::join((*source)->warnings(), "; "));
  }
  return check;
}

// A file that only some kernels' instances have.
Check CheckFile(const Instance& instance, const char* name, const char* file, const char* found,
                const char* remedy) {
  if (instance.Has(file)) return Optional(Works(name, found));
  return Optional(Lacks(
      name, MakeError(ErrorCode::kUnsupported, fmt::format("no {} in tracefs", file), remedy)));
}

}  // namespace

std::vector<Check> CheckTracefs() {
  std::vector<Check> checks{CheckRecording(), CheckMount(), CheckPidNamespace()};
  if (checks[1].status == Status::kMissing) return checks;
  const auto instance = Instance::Create();
  if (!instance) {
    checks.push_back(Lacks("instance of its own", instance.error()));
    return checks;
  }
  checks.push_back(Works("instance of its own", "can be made and removed"));
  checks.push_back(CheckFile(*instance, "kernel stacks", "events/sched/sched_switch/trigger",
                             "by a stacktrace trigger",
                             "it needs a kernel with event triggers (Linux 3.15)"));
  checks.push_back(CheckFile(*instance, "user stacks", "options/userstacktrace",
                             "8 frames at most, by frame pointers",
                             "it needs a kernel with CONFIG_USER_STACKTRACE_SUPPORT"));
  return checks;
}

}  // namespace offcpu::source::tracefs
