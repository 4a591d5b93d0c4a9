// SPDX-License-Identifier: MIT
#include "source/perf/attr.h"

#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <ctime>

#include "base/files.h"
#include "base/parse.h"

#ifndef PERF_FORMAT_LOST  // Linux 6.0
#define PERF_FORMAT_LOST (1U << 4)
#endif

namespace offcpu::source::perf {
namespace {

perf_event_attr BaseAttr() {
  perf_event_attr attr{};
  attr.size = sizeof(attr);
  attr.sample_type = kSampleHead;
  attr.sample_id_all = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  attr.disabled = 1;
  attr.read_format = PERF_FORMAT_LOST;
  return attr;
}

int PerfEventOpen(perf_event_attr* attr, Scope scope) {
  return static_cast<int>(::syscall(SYS_perf_event_open, attr, scope.tid, scope.cpu, /*group=*/-1,
                                    PERF_FLAG_FD_CLOEXEC));
}

// fork, exec, comm, exit, mmap2.
void AddSideband(perf_event_attr* attr) {
  attr->mmap = 1;
  attr->mmap2 = 1;
  attr->comm = 1;
  attr->comm_exec = 1;
  attr->task = 1;
}

void AddChains(const ChainOptions& chains, perf_event_attr* attr) {
  attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
  attr->exclude_callchain_kernel = chains.kernel ? 0 : 1;
  attr->exclude_callchain_user = chains.user ? 0 : 1;
  attr->sample_max_stack = static_cast<uint16_t>(chains.max_stack);
}

Error OpenError(int reason, Scope scope) {
  std::string what = "open perf event";
  if (scope.tid > 0) what += " of thread " + std::to_string(scope.tid);
  what += " on CPU " + std::to_string(scope.cpu);
  Error error = SystemError(what, reason);
  switch (reason) {
    case EPERM:
    case EACCES:
      error.message += " (kernel.perf_event_paranoid is " + std::to_string(ParanoidLevel()) + ")";
      error.hint =
          "run as root, give the program CAP_PERFMON (setcap cap_perfmon+ep), or set "
          "kernel.perf_event_paranoid to -1; in a container the seccomp profile must allow "
          "perf_event_open; see offcpu-permissions(7)";
      break;
    case ENOSYS:
    case EOPNOTSUPP:
    case EINVAL:
      error.code = ErrorCode::kUnsupported;
      error.hint = "the kernel needs CONFIG_PERF_EVENTS and must be Linux 4.1 or later";
      break;
    case EMFILE:
    case ENFILE: error.hint = "raise the limit of open files: ulimit -n"; break;
    default: break;
  }
  return error;
}

}  // namespace

perf_event_attr RingOwnerAttr(uint32_t wakeup_bytes) {
  perf_event_attr attr = BaseAttr();
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.watermark = 1;
  attr.wakeup_watermark = wakeup_bytes;
  return attr;
}

perf_event_attr SidebandAttr(uint32_t wakeup_bytes) {
  perf_event_attr attr = RingOwnerAttr(wakeup_bytes);
  AddSideband(&attr);
  return attr;
}

perf_event_attr ContextSwitchAttr(const ChainOptions* chains) {
  perf_event_attr attr = BaseAttr();
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.context_switch = 1;
  AddSideband(&attr);
  if (chains != nullptr && chains->any()) {
    attr.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
    attr.sample_period = 1;
    AddChains(*chains, &attr);
  }
  return attr;
}

perf_event_attr SwitchRecordsAttr() {
  perf_event_attr attr = BaseAttr();
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.context_switch = 1;
  return attr;
}

perf_event_attr TracepointAttr(uint64_t id, const ChainOptions* chains) {
  perf_event_attr attr = BaseAttr();
  attr.type = PERF_TYPE_TRACEPOINT;
  attr.config = id;
  attr.sample_period = 1;
  attr.sample_type |= PERF_SAMPLE_RAW;
  if (chains != nullptr && chains->any()) AddChains(*chains, &attr);
  return attr;
}

Result<UniqueFd> OpenEvent(perf_event_attr* attr, Scope scope, int* error_number) {
  UniqueFd fd(PerfEventOpen(attr, scope));
  if (!fd && errno == EINVAL && (attr->read_format & PERF_FORMAT_LOST) != 0) {
    attr->read_format &= ~uint64_t{PERF_FORMAT_LOST};
    fd.Reset(PerfEventOpen(attr, scope));
  }
  if (fd) return fd;
  const int reason = errno;
  if (error_number != nullptr) *error_number = reason;
  return OpenError(reason, scope);
}

Result<uint64_t> EventId(int fd) {
  uint64_t id = 0;
  if (::ioctl(fd, PERF_EVENT_IOC_ID, &id) != 0) return SystemError("ask the id of a perf event");
  return id;
}

uint64_t ReadLost(int fd) {
  uint64_t values[2] = {0, 0};  // value, lost
  return ::read(fd, values, sizeof(values)) == sizeof(values) ? values[1] : 0;
}

int ParanoidLevel() {
  int level = 2;
  const auto text = ReadSmallFile("/proc/sys/kernel/perf_event_paranoid");
  if (text && ParseNumber(Trim(*text), &level)) return level;
  return 2;
}

}  // namespace offcpu::source::perf
