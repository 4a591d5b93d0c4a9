// SPDX-License-Identifier: MIT
#include "symbolize/open_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <vector>

namespace offcpu::symbolize {
namespace {

bool DeviceNumbersDiffer(int fd) {
  struct statfs fs {};
  if (::fstatfs(fd, &fs) != 0) return false;
  const auto type = static_cast<uint64_t>(static_cast<uint32_t>(fs.f_type));
  return type == BTRFS_SUPER_MAGIC || type == OVERLAYFS_SUPER_MAGIC;
}

bool IsMappedFile(const OpenedFile& file, const model::Module& module) {
  if (file.status.st_ino != module.inode) return false;
  const bool same_device = major(file.status.st_dev) == module.device_major &&
                           minor(file.status.st_dev) == module.device_minor;
  return same_device || DeviceNumbersDiffer(file.fd.get());
}

std::string MapFilesPath(const std::string& process, const model::Module& module) {
  std::array<char, 48> range{};
  std::snprintf(range.data(), range.size(), "%llx-%llx",
                static_cast<unsigned long long>(module.map_start),
                static_cast<unsigned long long>(module.map_end));
  return process + "/map_files/" + range.data();
}

}  // namespace

Result<OpenedFile> OpenRegularFile(int dir_fd, const std::string& path, Links links) {
  const int no_follow = links == Links::kRefuse ? O_NOFOLLOW : 0;
  const UniqueFd place(::openat(dir_fd, path.c_str(), O_PATH | O_CLOEXEC | no_follow));
  if (!place) return SystemError("open " + path);
  OpenedFile file;
  if (::fstat(place.get(), &file.status) != 0) return SystemError("stat " + path);
  if (!S_ISREG(file.status.st_mode)) return Failed("open " + path + ": not a regular file");
  const std::string again = "/proc/self/fd/" + std::to_string(place.get());
  file.fd.Reset(::open(again.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.fd) return SystemError("open " + path);
  return file;
}

Result<OpenedFile> OpenModuleFile(const std::string& proc, const model::Module& module) {
  if (module.inode == 0) return Failed("open " + module.path + ": its inode is not known");
  const std::string path = StripDeleted(module.path);
  const std::string process = proc + "/" + std::to_string(module.pid);
  std::vector<std::string> places{path};
  if (!proc.empty()) {
    places = {MapFilesPath(process, module), process + "/root" + path, path};
  }
  Error reason;
  for (const std::string& place : places) {
    auto file = OpenRegularFile(place);
    if (file && IsMappedFile(*file, module)) return file;
    reason = file ? Failed("open " + path + ": it was replaced since it was mapped") : file.error();
  }
  return reason;
}

std::string StripDeleted(std::string path) {
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) path.resize(path.size() - kDeleted.size());
  return path;
}

Result<void> ReadExactly(int fd, void* buffer, size_t size, uint64_t offset) {
  auto* out = static_cast<char*>(buffer);
  while (size > 0) {
    if (offset > static_cast<uint64_t>(INT64_MAX)) return Failed("read past the end of a file");
    const ssize_t count = ::pread(fd, out, size, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return SystemError("read a file");
    if (count == 0) return Failed("read past the end of a file");
    out += count;
    size -= static_cast<size_t>(count);
    offset += static_cast<uint64_t>(count);
  }
  return {};
}

}  // namespace offcpu::symbolize
