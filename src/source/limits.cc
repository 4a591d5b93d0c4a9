// SPDX-License-Identifier: MIT
#include "source/limits.h"

#include <dirent.h>
#include <sys/resource.h>

#include <memory>
#include <string>

namespace offcpu::source {
namespace {

// What a recording has open for moments beside its events: its output, /proc, files with symbols.
constexpr size_t kPassingFiles = 16;

size_t OpenDescriptors() {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("/proc/self/fd"), ::closedir);
  size_t count = 0;
  while (directory && ::readdir(directory.get()) != nullptr) ++count;
  return count;  // "." and ".." count, too: two more of room
}

}  // namespace

Result<void> EnsureDescriptors(size_t needed) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return SystemError("read the limit of open files");
  if (limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0)
      return SystemError("raise the limit of open files");
  }
  const size_t total = OpenDescriptors() + needed + kPassingFiles;
  if (total > limit.rlim_cur) {
    return Failed("recording needs " + std::to_string(total) + " open files, the limit is " +
                      std::to_string(limit.rlim_cur),
                  "raise it: ulimit -n " + std::to_string(total + 64));
  }
  return {};
}

}  // namespace offcpu::source
