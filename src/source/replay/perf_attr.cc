// SPDX-License-Identifier: MIT
#include "source/replay/perf_attr.h"

#include <linux/perf_event.h>

#include <bit>
#include <string>

#include "source/replay/file_bytes.h"

namespace offcpu::source::replay {
namespace {

constexpr size_t kSizeAt = 4;
constexpr size_t kFlagsAt = 40;
constexpr size_t kBranchesAt = 72;
constexpr size_t kUserRegistersAt = 80;
constexpr size_t kClockAt = 92;
constexpr size_t kMaxStackAt = 108;
constexpr size_t kLargestAttr = 4096;

// Numbers of the bits in the flag word of perf_event_attr (perf_event_open(2)).
constexpr int kEnableOnExec = 12;
constexpr int kSampleIdAll = 18;
constexpr int kExcludeCallchainUser = 22;
constexpr int kUseClockId = 25;
constexpr int kContextSwitch = 26;

constexpr uint64_t kKnownSampleType = (1U << 25) - 1;  // up to PERF_SAMPLE_WEIGHT_STRUCT (5.12)
constexpr uint64_t kKnownReadFormat = (1U << 5) - 1;   // up to PERF_FORMAT_LOST (6.0)

uint8_t ReverseBits(uint8_t byte) {
  uint8_t reversed = 0;
  for (int bit = 0; bit < 8; ++bit) reversed |= ((byte >> bit) & 1) << (7 - bit);
  return reversed;
}

// The flags are bit fields: a compiler of big-endian machines begins with the highest bit of the
// first byte, one of little-endian machines with its lowest.
uint64_t ReadFlags(std::span<const std::byte> data, bool swap) {
  const bool big = (std::endian::native == std::endian::big) != swap;
  uint64_t flags = 0;
  for (size_t i = 0; i < 8; ++i) {
    const auto byte = static_cast<uint8_t>(data[kFlagsAt + i]);
    flags |= uint64_t{big ? ReverseBits(byte) : byte} << (8 * i);
  }
  return flags;
}

Result<void> CheckBits(const char* field, uint64_t value, uint64_t known) {
  const uint64_t unknown = value & ~known;
  if (unknown == 0) return {};
  return Failed(std::string("the recording has an event with bit ") +
                    std::to_string(std::countr_zero(unknown)) + " of " + field +
                    ", which this version of offcpu does not know",
                "use a newer offcpu, or record without the option of perf that sets it");
}

template <class T>
T ReadAt(std::span<const std::byte> data, size_t at, size_t attr_size, bool swap) {
  return at + sizeof(T) <= attr_size ? LoadInteger<T>(data.data() + at, swap) : T{0};
}

}  // namespace

size_t AttrSize(std::span<const std::byte> data, bool swap) {
  if (data.size() < kSmallestAttr) return 0;
  const auto size = LoadInteger<uint32_t>(data.data() + kSizeAt, swap);
  if (size == 0) return kSmallestAttr;
  return size < kSmallestAttr || size > kLargestAttr ? 0 : size;
}

Result<EventAttr> ParseAttr(std::span<const std::byte> data, bool swap) {
  EventAttr attr;
  attr.size = static_cast<uint32_t>(AttrSize(data, swap));
  if (attr.size == 0 || attr.size > data.size()) {
    return Failed("an event of the recording has no usable attributes");
  }
  attr.type = ReadAt<uint32_t>(data, 0, attr.size, swap);
  attr.config = ReadAt<uint64_t>(data, 8, attr.size, swap);
  attr.sample_type = ReadAt<uint64_t>(data, 24, attr.size, swap);
  attr.read_format = ReadAt<uint64_t>(data, 32, attr.size, swap);
  const uint64_t flags = ReadFlags(data, swap);
  const auto has = [&](int bit) { return (flags >> bit & 1) != 0; };
  attr.enable_on_exec = has(kEnableOnExec);
  attr.exclude_callchain_user = has(kExcludeCallchainUser);
  attr.sample_id_all = has(kSampleIdAll);
  attr.context_switch = has(kContextSwitch);
  if (has(kUseClockId)) attr.clock = ReadAt<int32_t>(data, kClockAt, attr.size, swap);
  attr.branch_sample_type = ReadAt<uint64_t>(data, kBranchesAt, attr.size, swap);
  attr.user_registers = ReadAt<uint64_t>(data, kUserRegistersAt, attr.size, swap);
  attr.sample_max_stack = ReadAt<uint16_t>(data, kMaxStackAt, attr.size, swap);
  if (auto known = CheckBits("sample_type", attr.sample_type, kKnownSampleType); !known) {
    return known.error();
  }
  if (auto known = CheckBits("read_format", attr.read_format, kKnownReadFormat); !known) {
    return known.error();
  }
  return attr;
}

RecordLayout LayoutOf(const EventAttr& attr) {
  RecordLayout layout;
  uint16_t at = sizeof(perf_event_header);
  const auto field = [&](uint64_t bit) -> uint16_t {
    if ((attr.sample_type & bit) == 0) return 0;
    at += 8;
    return at - 8;
  };
  // In this order (perf_event.h, PERF_RECORD_SAMPLE).
  const uint16_t identifier = field(PERF_SAMPLE_IDENTIFIER);
  field(PERF_SAMPLE_IP);
  layout.tid = field(PERF_SAMPLE_TID);
  layout.time = field(PERF_SAMPLE_TIME);
  field(PERF_SAMPLE_ADDR);
  const uint16_t id = field(PERF_SAMPLE_ID);
  layout.id = identifier != 0 ? identifier : id;
  field(PERF_SAMPLE_STREAM_ID);
  layout.cpu = field(PERF_SAMPLE_CPU);
  field(PERF_SAMPLE_PERIOD);
  layout.fixed_end = at;
  if (!attr.sample_id_all) return layout;

  // The trailer, last field first (struct sample_id).
  const auto from_end = [&](uint64_t bit) -> uint16_t {
    if ((attr.sample_type & bit) == 0) return 0;
    layout.trailer_size += 8;
    return layout.trailer_size;
  };
  const uint16_t trailer_identifier = from_end(PERF_SAMPLE_IDENTIFIER);
  layout.trailer_cpu = from_end(PERF_SAMPLE_CPU);
  from_end(PERF_SAMPLE_STREAM_ID);
  const uint16_t trailer_id = from_end(PERF_SAMPLE_ID);
  layout.trailer_id = trailer_identifier != 0 ? trailer_identifier : trailer_id;
  layout.trailer_time = from_end(PERF_SAMPLE_TIME);
  layout.trailer_tid = from_end(PERF_SAMPLE_TID);
  return layout;
}

}  // namespace offcpu::source::replay
