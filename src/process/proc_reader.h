// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/ids.h"
#include "model/process_event.h"
#include "model/sched_event.h"

// What /proc says of processes and threads. A process may end at any moment, so most answers are
// optional: nothing there is an ordinary answer, not an error.
namespace offcpu::process {

// The kernel's PF_KTHREAD (include/linux/sched.h), field 9 of /proc/PID/stat.
constexpr uint64_t kPfKthread = 0x00200000;

// From /proc/PID/task/TID/stat (proc(5)).
struct ThreadStat {
  model::Comm comm{};
  uint32_t task_state = 0;  // model::TaskState of the letter
  model::Pid parent = 0;
  bool kernel_thread = false;
  model::Cpu cpu = -1;       // where it ran last
  uint64_t start_ticks = 0;  // when it began: sysconf(_SC_CLK_TCK) a second of CLOCK_BOOTTIME
};

std::optional<ThreadStat> ReadThreadStat(model::Pid pid, model::Tid tid);
std::optional<ThreadStat> ParseThreadStat(std::string_view text);

// All processes / all threads of a process, ascending; empty when it has ended.
std::vector<model::Pid> ListProcesses();
std::vector<model::Tid> ListThreads(model::Pid pid);

// Context switches of a thread so far, voluntary and not (/proc/PID/task/TID/status).
std::optional<uint64_t> ReadSwitchCount(model::Pid pid, model::Tid tid);
std::optional<uint64_t> ParseSwitchCount(std::string_view text);

// The process a thread belongs to (Tgid of /proc/TID/status).
std::optional<model::Pid> ProcessOfThread(model::Tid tid);

// The name of the program that a dynamic loader runs, when it was started by hand ("ld-linux.so.2
// [options] program"): the base name of the program from /proc/PID/cmdline, if `comm` is a loader's
// name.
std::optional<model::Comm> NameBehindLoader(model::Pid pid, const model::Comm& comm);
std::optional<model::Comm> ProgramOfLoader(std::string_view cmdline);

// The id in the thread's own pid namespace: the last number of NSpid (Linux 4.1); the tid itself
// where there is none.
model::Tid InnerTid(model::Pid pid, model::Tid tid);

// Executable mappings from /proc/PID/maps. The paths live in the returned struct.
struct Mappings {
  std::string text;
  std::vector<model::Map> maps;
};
Mappings ReadMappings(model::Pid pid);
std::vector<model::Map> ParseMappings(std::string_view text, model::Pid pid);

// se.exec_start of /proc/PID/task/TID/sched in nanoseconds of the rq clock of its CPU: for a thread
// that sleeps, the time it was switched out (KF 8). Needs CONFIG_SCHED_DEBUG.
std::optional<Nanos> ReadExecStart(model::Pid pid, model::Tid tid);
std::optional<Nanos> ParseExecStart(std::string_view text);

// Kernel functions a sleeping thread is in, leaf first, from /proc/PID/task/TID/stack (root only);
// offsets are cut. Empty where it can't be read. The file leaves out functions of section __sched.
std::vector<std::string> ReadKernelStack(model::Pid pid, model::Tid tid);
std::vector<std::string> ParseKernelStack(std::string_view text);

}  // namespace offcpu::process
