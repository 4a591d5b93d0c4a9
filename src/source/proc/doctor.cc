// SPDX-License-Identifier: MIT
#include "source/proc/doctor.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "base/files.h"
#include "base/unique_fd.h"

namespace offcpu::source::proc {
namespace {

// A child that sleeps until it is destroyed: what the back end is to look at.
class Sleeper {
 public:
  Sleeper() : pid_(::fork()) {
    if (pid_ == 0) {
      while (true) ::pause();
    }
  }
  ~Sleeper() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  Result<std::string> Read(const char* file) const {
    return ReadSmallFile("/proc/" + std::to_string(pid_) + "/" + file);
  }

 private:
  const pid_t pid_;
};

Check CheckCounters(const Sleeper& sleeper) {
  const char* name = "thread counters";
  for (const char* file : {"schedstat", "stat", "status"}) {
    const auto text = sleeper.Read(file);
    if (!text) {
      return Lacks(name, text.error().WithHint("mount /proc, with hidepid=0 for others' processes, "
                                               "on a kernel with CONFIG_SCHED_INFO"));
    }
  }
  return Works(name, "schedstat, stat and status readable");
}

Check CheckPlace(const Sleeper& sleeper, const char* file, const char* name, const char* remedy) {
  const auto text = sleeper.Read(file);
  if (!text) return Optional(Lacks(name, text.error().WithHint(remedy)));
  return Optional(Works(name, std::string("/proc/PID/") + file + " readable"));
}

}  // namespace

std::vector<Check> CheckProc() {
  const Sleeper sleeper;
  return {CheckCounters(sleeper),
          CheckPlace(sleeper, "wchan", "kernel function of a wait",
                     "needs CONFIG_KALLSYMS and a security policy that allows ptrace"),
          CheckPlace(sleeper, "syscall", "system call of a wait",
                     "needs CONFIG_HAVE_ARCH_TRACEHOOK and kernel.yama.ptrace_scope 0, or "
                     "CAP_SYS_PTRACE"),
          CheckPlace(sleeper, "stack", "kernel stack of a wait",
                     "only root reads /proc/PID/stack; the waiting function stands for it")};
}

}  // namespace offcpu::source::proc
