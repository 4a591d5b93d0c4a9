// SPDX-License-Identifier: MIT
#include "source/tracefs/page.h"

#include <cstring>

#include "base/check.h"

namespace offcpu::source::tracefs {
namespace {

// The upper bits of the commit word (kernel/trace/ring_buffer.c).
constexpr uint64_t kMissedEvents = 1U << 31;
constexpr uint64_t kMissedStored = 1U << 30;
constexpr uint64_t kCommitMask = (1U << 20) - 1;

constexpr size_t kWord = 4;

uint64_t LoadLong(const std::byte* at, size_t size) {
  uint64_t wide = 0;
  uint32_t narrow = 0;
  if (size == sizeof(wide)) {
    std::memcpy(&wide, at, sizeof(wide));
    return wide;
  }
  std::memcpy(&narrow, at, sizeof(narrow));
  return narrow;
}

}  // namespace

PageHead ReadPageHead(const Page& page, const kernel_compat::PageLayout& layout) {
  PageHead head;
  const auto bytes = page.bytes();
  if (bytes.size() < layout.page_size()) return head;
  std::memcpy(&head.time, bytes.data(), sizeof(head.time));
  const uint64_t commit = LoadLong(bytes.data() + layout.commit_offset, layout.commit_size);
  head.commit = commit & kCommitMask;
  if (head.commit > layout.data_size) return head;
  head.valid = true;
  head.missed = (commit & kMissedEvents) != 0;
  // The count lies behind the records if there was room for it.
  if (head.missed && (commit & kMissedStored) != 0 &&
      layout.data_size - head.commit >= layout.commit_size) {
    head.missed_count =
        LoadLong(bytes.data() + layout.data_offset + head.commit, layout.commit_size);
  }
  return head;
}

PageCursor::PageCursor(const kernel_compat::PageLayout& layout)
    : layout_(layout),
      kbuffer_(kbuffer_alloc(layout.commit_size == 8 ? KBUFFER_LSIZE_8 : KBUFFER_LSIZE_4,
                             KBUFFER_ENDIAN_SAME_AS_HOST)) {
  OFFCPU_CHECK(kbuffer_ != nullptr);
}

bool PageCursor::Load(const Page& page) {
  const PageHead head = ReadPageHead(page, layout_);
  damaged_ = !head.valid;
  page_ = page.bytes().data();
  position_ = layout_.data_offset;
  end_ = position_ + (head.valid ? head.commit : 0);
  time_ = head.time;
  return head.valid;
}

bool PageCursor::Next(TraceRecord* record) {
  while (position_ < end_) {
    if (end_ - position_ < kWord || position_ % kWord != 0) break;
    kbuffer_raw_info info{};
    auto* page = const_cast<std::byte*>(page_);  // the library only reads
    info.next = page + position_;
    if (kbuffer_raw_get(kbuffer_.get(), page, &info) == nullptr) break;
    // As numbers: a damaged length leads out of the page.
    const uintptr_t next =
        reinterpret_cast<uintptr_t>(info.next) - reinterpret_cast<uintptr_t>(page_);
    if (info.type == KBUFFER_TYPE_PADDING && info.delta == 0) {  // the rest of the page is unused
      position_ = end_;
      return false;
    }
    if (next <= position_ || next > end_ || info.length < 0) break;
    position_ = next;
    time_ = info.type == KBUFFER_TYPE_TIME_STAMP ? info.delta : time_ + info.delta;
    if (info.type >= KBUFFER_TYPE_PADDING) continue;
    const auto length = static_cast<size_t>(info.length);
    *record = {time_, {page_ + next - length, length}};
    return true;
  }
  if (position_ < end_) damaged_ = true;
  position_ = end_;
  return false;
}

}  // namespace offcpu::source::tracefs
