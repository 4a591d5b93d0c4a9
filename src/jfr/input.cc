// SPDX-License-Identifier: MIT
#include "jfr/input.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

namespace offcpu::jfr {
namespace {

// Large enough that system calls don't matter, small enough for the cache.
constexpr size_t kWindowBytes = 256U << 10;

// Reads up to `into.size()` bytes; what was read before an error or the end.
size_t ReadAt(int fd, std::span<std::byte> into, uint64_t offset, int* error) {
  size_t done = 0;
  while (done < into.size()) {
    const ssize_t got =
        ::pread(fd, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) *error = errno;
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

}  // namespace

Result<Input> Input::Open(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return SystemError("open " + path);
  if (!S_ISREG(status.st_mode)) return Failed("open " + path + ": not a regular file");
  Input input;
  input.fd_ = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!input.fd_ || ::fstat(input.fd_.get(), &status) != 0) return SystemError("open " + path);
  if (!S_ISREG(status.st_mode)) return Failed("open " + path + ": not a regular file");
  input.size_ = static_cast<uint64_t>(status.st_size);
  return input;
}

Input Input::FromMemory(std::span<const std::byte> bytes) {
  Input input;
  input.size_ = bytes.size();
  input.window_ = bytes;
  return input;
}

void Input::Forget() {
  if (!fd_) return;
  window_ = {};
  window_begin_ = 0;
}

std::span<const std::byte> Input::Slide(uint64_t offset, size_t wanted) {
  if (offset >= size_) return {};
  const uint64_t left = size_ - offset;
  if (!fd_) return window_.subspan(static_cast<size_t>(offset));
  const auto length = static_cast<size_t>(std::min<uint64_t>(left, std::max(wanted, kWindowBytes)));
  // One large event must not keep its room for the rest of the file.
  if (buffer_.size() < length || buffer_.size() > 4 * std::max(length, kWindowBytes)) {
    buffer_ = std::vector<std::byte>(length);
  }
  int error = 0;
  const size_t got = ReadAt(fd_.get(), std::span(buffer_).first(length), offset, &error);
  if (error != 0 && failure_.empty()) failure_ = SystemError("read", error).message;
  window_begin_ = offset;
  window_ = std::span<const std::byte>(buffer_).first(got);
  return window_;
}

}  // namespace offcpu::jfr
