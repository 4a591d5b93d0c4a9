// SPDX-License-Identifier: MIT
#include "source/replay/input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace offcpu::source::replay {

Result<Input> Input::Open(const std::string& path) {
  UniqueFd fd(path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                          : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const std::string name = path == "-" ? "standard input" : path;
  if (!fd) return SystemError("open " + name);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return SystemError("stat " + name);
  if (S_ISDIR(status.st_mode)) {
    return Failed("import " + name + ": it is a directory",
                  "recordings of perf record --threads are not read; record without that option");
  }
  Input input(std::move(fd));
  if (S_ISREG(status.st_mode)) {
    input.size_ = static_cast<uint64_t>(status.st_size);
    const off_t at = ::lseek(input.fd_.get(), 0, SEEK_CUR);
    if (at > 0) input.base_ = static_cast<uint64_t>(at);
  }
  return input;
}

bool Input::Fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    base_ += begin_;
    end_ -= begin_;
    begin_ = 0;
  }
  for (;;) {
    const ssize_t count = ::read(fd_.get(), buffer_.get() + end_, kBlock - end_);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && !error_) error_ = SystemError("read the recording");
    if (count <= 0) return false;
    end_ += static_cast<size_t>(count);
    return true;
  }
}

std::span<const std::byte> Input::Peek(size_t size) {
  size = std::min(size, kBlock);
  while (end_ - begin_ < size && Fill()) {
  }
  return {buffer_.get() + begin_, std::min(size, end_ - begin_)};
}

bool Input::Skip(uint64_t size) {
  const size_t held = end_ - begin_;
  if (size <= held) {
    begin_ += static_cast<size_t>(size);
    return true;
  }
  if (size_) {
    const uint64_t left = *size_ > position() ? *size_ - position() : 0;
    SeekTo(position() + std::min(size, left));
    return size <= left;
  }
  while (size > 0) {
    const size_t part = Peek(static_cast<size_t>(std::min<uint64_t>(size, kBlock))).size();
    if (part == 0) return false;
    Consume(part);
    size -= part;
  }
  return true;
}

std::vector<std::byte> Input::Read(uint64_t size) {
  std::vector<std::byte> bytes;
  while (bytes.size() < size) {
    const uint64_t missing = size - bytes.size();
    const auto part = Peek(static_cast<size_t>(std::min<uint64_t>(missing, kBlock)));
    if (part.empty()) break;
    bytes.insert(bytes.end(), part.begin(), part.end());
    Consume(part.size());
  }
  return bytes;
}

void Input::SeekTo(uint64_t position) {
  if (position >= base_ && position <= base_ + end_) {
    begin_ = static_cast<size_t>(position - base_);
    return;
  }
  begin_ = end_ = 0;
  base_ = position;
  if (::lseek(fd_.get(), static_cast<off_t>(position), SEEK_SET) < 0 && !error_) {
    error_ = SystemError("read the recording");
  }
}

}  // namespace offcpu::source::replay
