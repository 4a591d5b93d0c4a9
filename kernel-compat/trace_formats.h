// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kernel-compat/event_format.h"
#include "model/ids.h"

namespace offcpu::kernel_compat {

// What every record of a trace begins with.
struct RecordHead {
  FieldLayout type;  // the event's id
  FieldLayout pid;   // who ran when it was written
};
// From any event's format; all have the same head.
Result<RecordHead> ParseRecordHead(std::string_view text, std::string_view event_name);

// ftrace:kernel_stack, written behind an event by its stacktrace trigger, and ftrace:user_stack, by
// the option userstacktrace.
struct StackFormat {
  uint16_t id = 0;
  FieldLayout count;   // of the addresses; absent in user_stack, whose rest is zeros
  FieldLayout tgid;    // user_stack only: the process
  FieldLayout caller;  // the first address lies there, the others behind
  size_t word = 0;     // bytes of an address
};
Result<StackFormat> ParseKernelStackFormat(std::string_view text);
Result<StackFormat> ParseUserStackFormat(std::string_view text);

// Puts the addresses, leaf first, in place of what `addresses` holds. False when the record is too
// short for its own count.
bool ReadStack(std::span<const std::byte> raw, const StackFormat& format,
               std::vector<uint64_t>* addresses);

// A page of the ring (a "sub-buffer"), from events/header_page.
struct PageLayout {
  size_t commit_offset = 0;
  size_t commit_size = 0;  // 8, or 4 on 32-bit kernels
  size_t data_offset = 0;
  size_t data_size = 0;

  size_t page_size() const { return data_offset + data_size; }
};
// kUnsupported for another form than that of Linux 2.6.31 and later.
Result<PageLayout> ParsePageLayout(std::string_view text);

}  // namespace offcpu::kernel_compat
