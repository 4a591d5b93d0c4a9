// SPDX-License-Identifier: MIT
#include "base/signals.h"

#include <unistd.h>

namespace offcpu {

Result<SignalFd> SignalFd::Open(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : signals) sigaddset(&set, signal);
  SignalFd result;
  result.fd_.Reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!result.fd_) return SystemError("open a signal descriptor");
  if (const int error = ::pthread_sigmask(SIG_BLOCK, &set, &result.before_); error != 0) {
    result.fd_.Reset();
    return SystemError("block signals", error);
  }
  return result;
}

SignalFd::~SignalFd() {
  if (fd_) ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<int> SignalFd::Next() {
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof(info)) != sizeof(info)) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

}  // namespace offcpu
