// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace offcpu::record {

// The command to be recorded: forked at once, executed when everything is ready. A child that was
// never started is ended and reaped by the destructor.
class Child {
 public:
  // To be called before signals are blocked and threads are started.
  static Result<Child> Fork(const std::vector<std::string>& command);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();

  pid_t pid() const { return pid_; }

  // Lets it execute the command; returns when it has, or with the reason why it could not.
  Result<void> Start();
  // errno of the failed execve, if Start() failed for that.
  int exec_error() const { return exec_error_; }

  // The status as a shell tells it (128 + signal), once it has ended.
  std::optional<int> Poll();
  int Wait();

 private:
  Child() = default;

  pid_t pid_ = -1;
  UniqueFd go_;      // one byte: execute
  UniqueFd failed_;  // closed by the execve, or brings its errno
  std::optional<int> status_;
  int exec_error_ = 0;
};

}  // namespace offcpu::record
