// SPDX-License-Identifier: MIT
#include "record/thread_files.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/files.h"

namespace offcpu::record {

ThreadFiles::ThreadFiles(model::Pid pid, model::Tid tid, bool stack, bool keep)
    : folder_("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/"),
      stack_(stack),
      keep_(keep) {}

UniqueFd ThreadFiles::Open(File file) const {
  constexpr std::array<const char*, kFiles> kNames{"schedstat", "stat", "syscall", "wchan"};
  const char* name = file == kPlace && stack_ ? "stack" : kNames[file];
  return UniqueFd(::open((folder_ + name).c_str(), O_RDONLY | O_CLOEXEC));
}

std::optional<std::string_view> ThreadFiles::Read(File file) {
  // One sampling thread, one buffer.
  static thread_local std::array<char, 4096> buffer;
  UniqueFd opened;
  if (!fds_[file]) opened = Open(file);
  const int fd = fds_[file] ? fds_[file].get() : opened.get();
  if (fd < 0) return std::nullopt;
  const ssize_t got = ::pread(fd, buffer.data(), buffer.size(), 0);
  if (keep_ && opened) fds_[file] = std::move(opened);
  if (got < 0) return std::nullopt;
  return std::string_view(buffer.data(), static_cast<size_t>(got));
}

bool ThreadFiles::CanReadStacks() {
  const auto text = ReadSmallFile("/proc/self/stack");
  return text.has_value();
}

}  // namespace offcpu::record
