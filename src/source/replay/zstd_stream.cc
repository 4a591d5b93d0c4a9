// SPDX-License-Identifier: MIT
#include "source/replay/zstd_stream.h"

#include <zstd.h>

namespace offcpu::source::replay {

void ZstdStream::Free::operator()(ZSTD_DCtx_s* context) const { ZSTD_freeDCtx(context); }

ZstdStream::ZstdStream() = default;
ZstdStream::~ZstdStream() = default;

void ZstdStream::SetInput(std::span<const std::byte> input) {
  if (!context_) context_.reset(ZSTD_createDCtx());
  failed_ = failed_ || context_ == nullptr;
  if (!failed_) input_ = input;
}

size_t ZstdStream::Read(std::span<std::byte> output) {
  ZSTD_outBuffer out{output.data(), output.size(), 0};
  // Output may still come when all input is used up, so the library is asked in any case.
  while (!failed_ && context_ && out.pos < out.size) {
    ZSTD_inBuffer in{input_.data(), input_.size(), 0};
    const size_t before = out.pos;
    failed_ = ZSTD_isError(ZSTD_decompressStream(context_.get(), &out, &in)) != 0;
    input_ = input_.subspan(in.pos);
    if (in.pos == 0 && out.pos == before) break;
  }
  if (failed_) input_ = {};
  return out.pos;
}

}  // namespace offcpu::source::replay
