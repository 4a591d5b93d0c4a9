// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

extern "C" {  // the header does not say so itself
#include <traceevent/kbuffer.h>
}

#include "base/clock.h"
#include "kernel-compat/trace_formats.h"

namespace offcpu::source::tracefs {

// A page read from trace_pipe_raw. Its memory is a little longer than the page: libtraceevent reads
// the second word of a record without looking where the page ends.
class Page {
 public:
  explicit Page(size_t size) : bytes_(size + kSlack) {}
  std::span<std::byte> bytes() { return {bytes_.data(), bytes_.size() - kSlack}; }
  std::span<const std::byte> bytes() const { return {bytes_.data(), bytes_.size() - kSlack}; }

 private:
  static constexpr size_t kSlack = 16;
  std::vector<std::byte> bytes_;
};

struct PageHead {
  Nanos time = 0;             // the first record's delta counts from here
  size_t commit = 0;          // bytes of records
  bool missed = false;        // events before this page were overwritten
  uint64_t missed_count = 0;  // how many; 0: the page does not say
  bool valid = false;
};
PageHead ReadPageHead(const Page& page, const kernel_compat::PageLayout& layout);

struct TraceRecord {
  Nanos time = 0;
  std::span<const std::byte> raw;  // from common_type on
};

// Walks over the records of a page, one by one through libtraceevent's kbuffer; where a record
// would lead is checked before it is followed.
class PageCursor {
 public:
  explicit PageCursor(const kernel_compat::PageLayout& layout);

  // The page must live until the next Load(). False when its head makes no sense.
  bool Load(const Page& page);
  // False at the end of the page, or where a record makes no sense: then damaged().
  bool Next(TraceRecord* record);
  bool damaged() const { return damaged_; }

 private:
  struct FreeKbuffer {
    void operator()(kbuffer* buffer) const { kbuffer_free(buffer); }
  };

  const kernel_compat::PageLayout layout_;
  std::unique_ptr<kbuffer, FreeKbuffer> kbuffer_;
  const std::byte* page_ = nullptr;
  size_t position_ = 0;  // of the next record, from the page's start
  size_t end_ = 0;
  Nanos time_ = 0;
  bool damaged_ = false;
};

}  // namespace offcpu::source::tracefs
