// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace offcpu::jfr {

// The bytes of a recording, read through a window that slides over them. Read, not mapped: a file
// that somebody shortens meanwhile then ends early, where a mapping would kill the process. A
// recording that is still being written keeps the length it had when it was opened.
class Input {
 public:
  // A regular file; everything else is refused before it is opened.
  static Result<Input> Open(const std::string& path);
  // Bytes that outlive the Input.
  static Input FromMemory(std::span<const std::byte> bytes);

  uint64_t size() const { return size_; }

  // At least `wanted` bytes from `offset` on, fewer where the input ends or can't be read any
  // more; often more. Valid until the next call.
  std::span<const std::byte> At(uint64_t offset, size_t wanted) {
    const uint64_t skipped = offset - window_begin_;  // huge when before the window
    if (skipped <= window_.size() && wanted <= window_.size() - skipped)
      return window_.subspan(static_cast<size_t>(skipped));
    return Slide(offset, wanted);
  }

  // Drops the window, so that bytes which were changed in the file meanwhile are seen.
  void Forget();

  // Why reading failed once; empty where it did not.
  const std::string& failure() const { return failure_; }

 private:
  std::span<const std::byte> Slide(uint64_t offset, size_t wanted);

  UniqueFd fd_;  // none: all of it is in window_
  uint64_t size_ = 0;
  uint64_t window_begin_ = 0;
  std::span<const std::byte> window_;
  std::vector<std::byte> buffer_;
  std::string failure_;
};

}  // namespace offcpu::jfr
