// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <span>

struct ZSTD_DCtx_s;

namespace offcpu::source::replay {

// Decompresses a zstd stream that comes in pieces, as perf -z writes it: one stream over all
// PERF_RECORD_COMPRESSED records.
class ZstdStream {
 public:
  ZstdStream();
  ~ZstdStream();

  // The next piece of input; it must stay valid until all of it was used up.
  void SetInput(std::span<const std::byte> input);

  // Writes decompressed bytes to `output` and returns how many. 0: more input is needed. After
  // damage failed() is true and nothing more comes.
  size_t Read(std::span<std::byte> output);
  bool failed() const { return failed_; }

 private:
  struct Free {
    void operator()(ZSTD_DCtx_s* context) const;
  };
  std::unique_ptr<ZSTD_DCtx_s, Free> context_;
  std::span<const std::byte> input_;
  bool failed_ = false;
};

}  // namespace offcpu::source::replay
