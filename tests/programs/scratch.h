// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include "workload.h"

namespace workload {

// A file of `size` zero bytes in `folder`, written to the disk and without a name; opened for
// reading with `flags`. Leaves with "skip" where the file system refuses or is none of a disk.
inline int OpenScratch(const std::string& folder, size_t size, int flags) {
  const std::string path = folder + "/scratch-" + std::to_string(::getpid());
  const int out = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (out < 0) Skip("create a file");
  const std::vector<char> block(1 << 16, 'x');
  bool good = true;
  for (size_t done = 0; good && done < size; done += block.size()) {
    good = ::write(out, block.data(), block.size()) == static_cast<ssize_t>(block.size());
  }
  good = good && ::fsync(out) == 0;
  const int in = good ? ::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags) : -1;
  const int error = errno;
  ::unlink(path.c_str());
  if (in < 0) Skip("open a file", error);
  struct statfs system {};
  if (::fstatfs(in, &system) == 0 && system.f_type == TMPFS_MAGIC) {
    Skip("wait for a disk on a tmpfs", EOPNOTSUPP);
  }
  ::posix_fadvise(in, 0, 0, POSIX_FADV_DONTNEED);
  ::close(out);
  return in;
}

}  // namespace workload
