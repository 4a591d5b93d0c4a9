// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace offcpu::source::replay {

// A recording that is being read: a file, or a pipe that can only be read onwards. Never holds more
// of it than one block. After an error of the system it is at its end, and error() tells.
class Input {
 public:
  // "-" is standard input.
  static Result<Input> Open(const std::string& path);

  bool seekable() const { return size_.has_value(); }
  std::optional<uint64_t> size() const { return size_; }
  uint64_t position() const { return base_ + begin_; }
  const std::optional<Error>& error() const { return error_; }

  // The next `size` bytes (at most kBlock), without moving on; fewer only at the end. They stay
  // valid until the next call.
  std::span<const std::byte> Peek(size_t size);
  // Moves on by at most what was peeked.
  void Consume(size_t size) { begin_ += size; }
  // False when the input ends before.
  bool Skip(uint64_t size);
  // The next `size` bytes; fewer at the end. Memory grows with what is there, not with `size`.
  std::vector<std::byte> Read(uint64_t size);
  // Only when seekable().
  void SeekTo(uint64_t position);

  static constexpr size_t kBlock = 1U << 20;

 private:
  explicit Input(UniqueFd fd)
      : fd_(std::move(fd)), buffer_(std::make_unique_for_overwrite<std::byte[]>(kBlock)) {}
  bool Fill();

  UniqueFd fd_;
  std::optional<uint64_t> size_;         // of a regular file
  std::unique_ptr<std::byte[]> buffer_;  // kBlock bytes
  size_t begin_ = 0;
  size_t end_ = 0;
  uint64_t base_ = 0;  // position in the file of buffer_'s start
  std::optional<Error> error_;
};

}  // namespace offcpu::source::replay
