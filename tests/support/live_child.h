// SPDX-License-Identifier: MIT
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace offcpu::live {

// How a child ended, as a shell tells it: its exit status, or 128 + the signal.
struct ChildEnd {
  int status = -1;
  rusage usage{};
};

// A child process that can be talked to. All waits have a deadline (a minute) after which the test
// fails; the child is killed and reaped by the destructor, and when the test process dies.
class Child {
 public:
  struct Options {
    std::vector<std::string> arguments;  // [0] is looked up in PATH
    bool take_errors = false;            // standard error goes into the same pipe as the output
    bool input = true;                   // a pipe on standard input; else /dev/null
    pid_t in_namespaces_of = 0;          // start in this process's pid and mount namespaces
  };
  explicit Child(const Options& options);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }

  // The next line of output, without its end; nothing when there is no more.
  std::optional<std::string> ReadLine();

  void Write(const std::string& text);
  void CloseInput() { input_.Reset(); }
  void Signal(int number);

  // Reads on to the end of the output and reaps.
  ChildEnd Wait();

  // All that was read so far.
  const std::string& output() const { return output_; }

 private:
  bool ReadMore();
  void Reap(bool block);

  pid_t pid_ = -1;
  UniqueFd input_;
  UniqueFd output_fd_;
  std::string output_;
  size_t line_start_ = 0;
  std::optional<ChildEnd> end_;
};

}  // namespace offcpu::live
