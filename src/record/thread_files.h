// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "model/ids.h"

namespace offcpu::record {

// The files of one thread in /proc that are read again and again. A descriptor stays bound to its
// thread: when that has ended, reading fails even if the id belongs to another by then.
class ThreadFiles {
 public:
  enum File { kSchedStat, kStat, kSyscall, kPlace, kFiles };
  static constexpr size_t kDescriptors = kFiles;

  // kPlace is `stack` or `wchan`. Without `keep` the files are opened for each reading, where there
  // are not descriptors enough.
  ThreadFiles(model::Pid pid, model::Tid tid, bool stack, bool keep);

  // The text, up to 4 KiB; it lives until the next call. Nothing when it can't be read: the thread
  // has ended, or its owner is another user.
  std::optional<std::string_view> Read(File file);

  // Whether this process may read /proc/TID/stack at all.
  static bool CanReadStacks();

 private:
  UniqueFd Open(File file) const;

  const std::string folder_;
  const bool stack_;
  const bool keep_;
  std::array<UniqueFd, kFiles> fds_;
};

}  // namespace offcpu::record
