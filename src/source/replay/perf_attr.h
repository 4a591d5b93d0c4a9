// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"

namespace offcpu::source::replay {

// What is needed of a perf_event_attr, whatever size and byte order the recording has it in.
struct EventAttr {
  uint32_t size = 0;  // as its kernel had it; at least 64
  uint32_t type = 0;
  uint64_t config = 0;
  uint64_t sample_type = 0;
  uint64_t read_format = 0;
  bool enable_on_exec = false;
  bool exclude_callchain_user = false;
  bool sample_id_all = false;
  bool context_switch = false;
  std::optional<int32_t> clock;   // use_clockid; nothing: the kernel's own clock of perf
  uint32_t sample_max_stack = 0;  // 0: the kernel's limit
  uint64_t branch_sample_type = 0;
  uint64_t user_registers = 0;  // sample_regs_user
};

// Smallest size ever, PERF_ATTR_SIZE_VER0; also what a size of 0 means.
constexpr size_t kSmallestAttr = 64;

// Size of the attribute that begins at `data`; 0 when that does not hold the smallest one, or the
// size makes no sense (over 4096).
size_t AttrSize(std::span<const std::byte> data, bool swap);

// `data` holds AttrSize() bytes or more. An error names a bit of sample_type or read_format that is
// not known: where fields of unknown length stand, nothing behind them can be found.
Result<EventAttr> ParseAttr(std::span<const std::byte> data, bool swap);

// Where the fields of an event's samples and of the trailers of its other records lie. An offset of
// 0 means that they are not there.
struct RecordLayout {
  // From the start of a sample.
  uint16_t tid = 0;  // pid, then tid
  uint16_t time = 0;
  uint16_t id = 0;
  uint16_t cpu = 0;
  uint16_t fixed_end = 0;  // here the fields of varying length begin
  // From the end of another record.
  uint16_t trailer_size = 0;
  uint16_t trailer_tid = 0;
  uint16_t trailer_time = 0;
  uint16_t trailer_id = 0;
  uint16_t trailer_cpu = 0;

  bool operator==(const RecordLayout&) const = default;
};

RecordLayout LayoutOf(const EventAttr& attr);

}  // namespace offcpu::source::replay
