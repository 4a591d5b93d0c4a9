// SPDX-License-Identifier: MIT
#include "record/child.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

namespace offcpu::record {
namespace {

int ShellStatus(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// Between fork and exec: only calls that are safe there.
[[noreturn]] void RunCommand(char* const* argv, int go, int failed) {
  char byte = 0;
  ssize_t got = 0;
  do {
    got = ::read(go, &byte, 1);
  } while (got < 0 && errno == EINTR);
  if (got != 1) ::_exit(127);  // the recorder gave up
  std::signal(SIGPIPE, SIG_DFL);
  ::execvp(argv[0], argv);
  const int reason = errno;
  [[maybe_unused]] const ssize_t written = ::write(failed, &reason, sizeof(reason));
  ::_exit(reason == ENOENT ? 127 : 126);
}

}  // namespace

Result<Child> Child::Fork(const std::vector<std::string>& command) {
  int go[2];
  int failed[2];
  if (::pipe2(go, O_CLOEXEC) != 0) return SystemError("make a pipe");
  UniqueFd go_read(go[0]);
  UniqueFd go_write(go[1]);
  if (::pipe2(failed, O_CLOEXEC) != 0) return SystemError("make a pipe");
  UniqueFd failed_read(failed[0]);
  UniqueFd failed_write(failed[1]);

  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);

  Child child;
  child.pid_ = ::fork();
  if (child.pid_ < 0) return SystemError("fork for " + command.front());
  if (child.pid_ == 0) {
    // The child must not hold the end that tells it of the recorder's death.
    go_write.Reset();
    RunCommand(argv.data(), go_read.get(), failed_write.get());
  }
  child.go_ = std::move(go_write);
  child.failed_ = std::move(failed_read);
  return child;
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      go_(std::move(other.go_)),
      failed_(std::move(other.failed_)),
      status_(other.status_),
      exec_error_(other.exec_error_) {}

Child::~Child() {
  const bool never_started = pid_ > 0 && go_;
  go_.Reset();
  if (never_started) Wait();
}

Result<void> Child::Start() {
  if (::write(go_.get(), "g", 1) != 1) return SystemError("start the command");
  go_.Reset();
  int reason = 0;
  ssize_t got = 0;
  do {
    got = ::read(failed_.get(), &reason, sizeof(reason));
  } while (got < 0 && errno == EINTR);
  failed_.Reset();
  if (got != sizeof(reason)) return {};
  exec_error_ = reason;
  return SystemError("execute the command", reason);
}

std::optional<int> Child::Poll() {
  int status = 0;
  if (!status_ && ::waitpid(pid_, &status, WNOHANG) == pid_) status_ = ShellStatus(status);
  return status_;
}

int Child::Wait() {
  int status = 0;
  while (!status_) {
    const pid_t got = ::waitpid(pid_, &status, 0);
    if (got == pid_) status_ = ShellStatus(status);
    if (got < 0 && errno != EINTR) status_ = 127;
  }
  return *status_;
}

}  // namespace offcpu::record
