// SPDX-License-Identifier: MIT
#include "tests/support/live_child.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include <gtest/gtest.h>

#include "base/clock.h"

namespace offcpu::live {
namespace {

constexpr int kDeadlineMs = 60'000;

// Starts the next child in the pid namespace of `other`, until it goes out of scope.
class PidNamespace {
 public:
  explicit PidNamespace(pid_t other) {
    if (other == 0) return;
    own_.Reset(::open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC));
    Enter(UniqueFd(::open(("/proc/" + std::to_string(other) + "/ns/pid").c_str(), O_RDONLY)));
  }
  ~PidNamespace() {
    if (own_) Enter(std::move(own_));
  }

 private:
  static void Enter(UniqueFd name_space) {
    EXPECT_EQ(::setns(name_space.get(), CLONE_NEWPID), 0) << "enter a pid namespace";
  }

  UniqueFd own_;
};

// In the new process: nothing but system calls up to the exec.
[[noreturn]] void Become(const Child::Options& options, const std::vector<char*>& arguments,
                         int input, int output, int mount_namespace) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(input, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  if (options.take_errors) ::dup2(output, STDERR_FILENO);
  if (mount_namespace >= 0 && ::setns(mount_namespace, CLONE_NEWNS) != 0) ::_exit(125);
  ::close_range(STDERR_FILENO + 1, ~0U, 0);  // what the one who ran the tests left open
  ::execvp(arguments[0], arguments.data());
  ::_exit(125);
}

}  // namespace

Child::Child(const Options& options) {
  int in[2] = {-1, -1};
  int out[2] = {-1, -1};
  EXPECT_EQ(::pipe2(in, O_CLOEXEC), 0);
  EXPECT_EQ(::pipe2(out, O_CLOEXEC), 0);
  const UniqueFd child_input(options.input ? in[0] : ::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const UniqueFd child_output(out[1]);
  input_.Reset(in[1]);
  output_fd_.Reset(out[0]);
  if (!options.input) {
    ::close(in[0]);
    input_.Reset();
  }
  std::vector<char*> arguments;
  for (const std::string& argument : options.arguments) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  UniqueFd mount_namespace;
  if (const pid_t other = options.in_namespaces_of; other != 0) {
    const std::string path = "/proc/" + std::to_string(other) + "/ns/mnt";
    mount_namespace.Reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_TRUE(mount_namespace);
  }
  const PidNamespace pid_namespace(options.in_namespaces_of);
  pid_ = ::fork();
  if (pid_ == 0) {
    Become(options, arguments, child_input.get(), child_output.get(), mount_namespace.get());
  }
  EXPECT_GT(pid_, 0) << "fork";
}

Child::~Child() {
  if (end_ || pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  Reap(true);
}

void Child::Reap(bool block) {
  int status = 0;
  ChildEnd end;
  if (::wait4(pid_, &status, block ? 0 : WNOHANG, &end.usage) != pid_) return;
  end.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  end_ = end;
}

bool Child::ReadMore() {
  if (!output_fd_) return false;
  pollfd poll{output_fd_.get(), POLLIN, 0};
  if (::poll(&poll, 1, kDeadlineMs) == 0) {
    ADD_FAILURE() << "process " << pid_ << " said nothing for a minute";
    output_fd_.Reset();
    return false;
  }
  char block[4096];
  const ssize_t got = ::read(output_fd_.get(), block, sizeof(block));
  if (got <= 0) {
    output_fd_.Reset();
    return false;
  }
  output_.append(block, static_cast<size_t>(got));
  return true;
}

std::optional<std::string> Child::ReadLine() {
  for (;;) {
    const size_t end = output_.find('\n', line_start_);
    if (end != std::string::npos) {
      std::string line = output_.substr(line_start_, end - line_start_);
      line_start_ = end + 1;
      return line;
    }
    if (!ReadMore()) return std::nullopt;
  }
}

void Child::Write(const std::string& text) {
  EXPECT_EQ(::write(input_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

void Child::Signal(int number) {
  // Not reaped yet, so the id is still ours.
  if (!end_ && pid_ > 0) ::kill(pid_, number);
}

ChildEnd Child::Wait() {
  while (ReadMore()) {
  }
  const Nanos begin = MonotonicNow();
  while (!end_ && MonotonicNow() - begin < Nanos{kDeadlineMs} * 1'000'000) {
    Reap(false);
    if (!end_) ::usleep(1000);
  }
  if (!end_) {
    ADD_FAILURE() << "process " << pid_ << " does not end";
    return {};
  }
  return *end_;
}

}  // namespace offcpu::live
