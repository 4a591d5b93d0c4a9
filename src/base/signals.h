// SPDX-License-Identifier: MIT
#pragma once

#include <sys/signalfd.h>

#include <csignal>
#include <initializer_list>
#include <optional>

#include "base/result.h"
#include "base/unique_fd.h"

namespace offcpu {

// Takes signals as a descriptor to read instead of by a handler; the destructor gives them back.
// To be created before any thread, so that all threads block them.
class SignalFd {
 public:
  static Result<SignalFd> Open(std::initializer_list<int> signals);
  SignalFd(SignalFd&&) noexcept = default;
  SignalFd& operator=(SignalFd&&) noexcept = default;
  ~SignalFd();

  int fd() const { return fd_.get(); }
  // The next pending signal's number, if there is one.
  std::optional<int> Next();

 private:
  SignalFd() = default;
  UniqueFd fd_;
  sigset_t before_{};
};

}  // namespace offcpu
