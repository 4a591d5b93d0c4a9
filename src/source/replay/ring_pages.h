// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "model/ids.h"

namespace offcpu::source::replay {

// A regular file that is read at any place.
class RandomFile {
 public:
  static Result<std::shared_ptr<const RandomFile>> Open(const std::string& path);
  uint64_t size() const { return size_; }
  // False when the file does not have all of it.
  bool ReadAt(uint64_t offset, std::span<std::byte> bytes) const;

 private:
  UniqueFd fd_;
  uint64_t size_ = 0;
};

// One CPU's pages of a ring, the oldest first, one at a time.
class PageFile {
 public:
  virtual ~PageFile() = default;
  // False at the end, or where the file is damaged.
  virtual bool Read(std::span<std::byte> page) = 0;
  virtual bool damaged() const = 0;
};

// Page behind page in [offset, offset + size) of a file.
std::unique_ptr<PageFile> PlainPages(std::shared_ptr<const RandomFile> file, uint64_t offset,
                                     uint64_t size);
// Compressed chunks of pages, as in trace.dat of version 7 (trace-cmd.dat.v7(5)); "zstd" or "zlib".
std::unique_ptr<PageFile> CompressedPages(std::shared_ptr<const RandomFile> file, uint64_t offset,
                                          uint64_t size, const std::string& compression);

// Decompresses a whole piece; nothing where it is damaged or not of that size.
std::optional<std::vector<std::byte>> Decompress(const std::string& compression,
                                                 std::span<const std::byte> compressed,
                                                 size_t size);

}  // namespace offcpu::source::replay
