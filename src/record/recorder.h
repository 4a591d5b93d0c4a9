// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>

#include "base/result.h"
#include "profile/profile.h"
#include "record/options.h"

namespace offcpu::record {

struct Recording {
  profile::Profile profile;
  // kCommand: how it ended, as a shell tells it. Not set while it still runs (the duration or a
  // signal ended the recording first): then WaitForCommand() of the recorder tells.
  std::optional<int> command_status;
};

// Sets everything up, waits, and puts it away again: a Session behind a back end.
class Recorder {
 public:
  explicit Recorder(Options options);
  ~Recorder();

  // Records until the duration is over, the target has ended, or SIGINT or SIGTERM comes. Tells
  // which back end it is and what a better one would need; prints progress and, with -v, "offcpu:
  // recording" once everything is enabled.
  Result<Recording> Run();

  // After an error of Run(): the status to end with where the command could not be executed, 127
  // when it was not found, else 126.
  std::optional<int> exec_failure() const { return exec_failure_; }
  // Blocks until the command has ended.
  int WaitForCommand();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::optional<int> exec_failure_;
};

}  // namespace offcpu::record
