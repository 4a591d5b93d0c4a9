// SPDX-License-Identifier: MIT
#include "source/replay/ring_pages.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace offcpu::source::replay {
namespace {

// trace-cmd writes chunks of ten pages.
constexpr uint32_t kLargestChunk = 1U << 20;

class Plain : public PageFile {
 public:
  Plain(std::shared_ptr<const RandomFile> file, uint64_t offset, uint64_t size)
      : file_(std::move(file)), at_(offset), left_(size) {}

  bool Read(std::span<std::byte> page) override {
    if (left_ < page.size()) {
      damaged_ = damaged_ || left_ > 0;
      left_ = 0;
      return false;
    }
    if (!file_->ReadAt(at_, page)) {
      damaged_ = true;
      left_ = 0;
      return false;
    }
    at_ += page.size();
    left_ -= page.size();
    return true;
  }
  bool damaged() const override { return damaged_; }

 private:
  std::shared_ptr<const RandomFile> file_;
  uint64_t at_;
  uint64_t left_;
  bool damaged_ = false;
};

class Compressed : public PageFile {
 public:
  Compressed(std::shared_ptr<const RandomFile> file, uint64_t offset, uint64_t size,
             std::string compression)
      : file_(std::move(file)), at_(offset), compression_(std::move(compression)) {
    if (size == 0) return;
    // trace-cmd 3.1.6 does not count the number in front of the chunks.
    left_ = size + sizeof(chunks_);
    damaged_ = !ReadNumber(&chunks_);
  }

  bool Read(std::span<std::byte> page) override {
    while (!damaged_ && used_ == chunk_.size() && chunks_ > 0) damaged_ = !NextChunk();
    const size_t rest = chunk_.size() - used_;
    if (damaged_ || rest < page.size()) {
      damaged_ = damaged_ || rest > 0;
      used_ = chunk_.size();
      return false;
    }
    std::memcpy(page.data(), chunk_.data() + used_, page.size());
    used_ += page.size();
    return true;
  }
  bool damaged() const override { return damaged_; }

 private:
  bool Take(std::span<std::byte> bytes) {
    if (left_ < bytes.size() || !file_->ReadAt(at_, bytes)) return false;
    at_ += bytes.size();
    left_ -= bytes.size();
    return true;
  }
  bool ReadNumber(uint32_t* number) { return Take(std::as_writable_bytes(std::span(number, 1))); }

  bool NextChunk() {
    --chunks_;
    uint32_t compressed_size = 0;
    uint32_t size = 0;
    if (!ReadNumber(&compressed_size) || !ReadNumber(&size)) return false;
    if (compressed_size > left_ || size > kLargestChunk) return false;
    compressed_.resize(compressed_size);
    if (!Take(compressed_)) return false;
    auto chunk = Decompress(compression_, compressed_, size);
    if (!chunk) return false;
    chunk_ = std::move(*chunk);
    used_ = 0;
    return true;
  }

  std::shared_ptr<const RandomFile> file_;
  uint64_t at_;
  uint64_t left_ = 0;
  std::string compression_;
  uint32_t chunks_ = 0;  // to come
  std::vector<std::byte> compressed_;
  std::vector<std::byte> chunk_;
  size_t used_ = 0;
  bool damaged_ = false;
};

}  // namespace

Result<std::shared_ptr<const RandomFile>> RandomFile::Open(const std::string& path) {
  auto file = std::make_shared<RandomFile>();
  file->fd_.Reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file->fd_ || ::fstat(file->fd_.get(), &status) != 0) return SystemError("open " + path);
  if (!S_ISREG(status.st_mode)) {
    return Failed("open " + path + ": not a regular file",
                  "it is read from several places at once");
  }
  file->size_ = static_cast<uint64_t>(status.st_size);
  return std::shared_ptr<const RandomFile>(std::move(file));
}

bool RandomFile::ReadAt(uint64_t offset, std::span<std::byte> bytes) const {
  if (offset > size_ || bytes.size() > size_ - offset) return false;
  while (!bytes.empty()) {
    const ssize_t read = ::pread(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (read < 0 && errno == EINTR) continue;
    if (read <= 0) return false;
    offset += static_cast<uint64_t>(read);
    bytes = bytes.subspan(static_cast<size_t>(read));
  }
  return true;
}

std::unique_ptr<PageFile> PlainPages(std::shared_ptr<const RandomFile> file, uint64_t offset,
                                     uint64_t size) {
  return std::make_unique<Plain>(std::move(file), offset, size);
}

std::unique_ptr<PageFile> CompressedPages(std::shared_ptr<const RandomFile> file, uint64_t offset,
                                          uint64_t size, const std::string& compression) {
  return std::make_unique<Compressed>(std::move(file), offset, size, compression);
}

std::optional<std::vector<std::byte>> Decompress(const std::string& compression,
                                                 std::span<const std::byte> compressed,
                                                 size_t size) {
  std::vector<std::byte> bytes(size);
  if (compression == "zstd") {
    const size_t written =
        ZSTD_decompress(bytes.data(), bytes.size(), compressed.data(), compressed.size());
    if (ZSTD_isError(written) != 0 || written != size) return std::nullopt;
    return bytes;
  }
  if (compression != "zlib") return std::nullopt;
  uLongf written = size;
  const int status =
      ::uncompress(reinterpret_cast<Bytef*>(bytes.data()), &written,
                   reinterpret_cast<const Bytef*>(compressed.data()), compressed.size());
  if (status != Z_OK || written != size) return std::nullopt;
  return bytes;
}

}  // namespace offcpu::source::replay
