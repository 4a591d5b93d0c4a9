// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "model/stack.h"

namespace offcpu::symbolize {

// A regular file open for reading, and what fstat said about it.
struct OpenedFile {
  UniqueFd fd;
  struct stat status {};
};

enum class Links {
  kFollow,
  kRefuse
};  // what to do when the last part of a path is a symbolic link

// Looks before it opens: only regular files are opened, never a device or a pipe that somebody put
// in the place. A relative `path` begins at the directory `dir_fd`.
Result<OpenedFile> OpenRegularFile(int dir_fd, const std::string& path, Links links);
inline Result<OpenedFile> OpenRegularFile(const std::string& path) {
  return OpenRegularFile(AT_FDCWD, path, Links::kFollow);
}

// The file that `module` was mapped from: through PROC/PID/map_files, else PROC/PID/root, else its
// path as this process sees it (the process may be gone; with an empty `proc` only there). Device
// and inode must be the module's, so a file put in its place later is refused; only on file systems
// whose device numbers in stat and in /proc/PID/maps differ (btrfs, overlayfs) the inode alone
// decides. An error tells the last reason.
Result<OpenedFile> OpenModuleFile(const std::string& proc, const model::Module& module);

// `path` without the " (deleted)" that the kernel appends.
std::string StripDeleted(std::string path);

// Exactly `size` bytes at `offset`; an error where the file ends before.
Result<void> ReadExactly(int fd, void* buffer, size_t size, uint64_t offset);

}  // namespace offcpu::symbolize
