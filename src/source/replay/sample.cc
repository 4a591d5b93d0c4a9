// SPDX-License-Identifier: MIT
#include "source/replay/sample.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "source/replay/perf_reader.h"

namespace offcpu::source::replay {
namespace {

template <class T>
void SwapAt(std::byte* at) {
  const T value = LoadInteger<T>(at, true);
  std::memcpy(at, &value, sizeof(value));
}

}  // namespace

bool SampleReader::Read(std::span<const std::byte> record, const EventTable::Event& event,
                        SampleParts* parts) {
  const RecordLayout& layout = event.layout;
  const uint64_t type = event.described.attr.sample_type;
  if (record.size() < layout.fixed_end) return false;
  *parts = {};
  if (layout.tid != 0) {
    parts->pid = LoadInteger<int32_t>(record.data() + layout.tid, swap_);
    parts->tid = LoadInteger<int32_t>(record.data() + layout.tid + 4, swap_);
  }
  FileBytes bytes(record.subspan(layout.fixed_end), swap_);
  if ((type & PERF_SAMPLE_READ) != 0 && !SkipRead(bytes, event.described.attr.read_format)) {
    return false;
  }
  if ((type & PERF_SAMPLE_CALLCHAIN) != 0) {
    const auto count = bytes.Read<uint64_t>();
    if (count > bytes.remaining() / sizeof(uint64_t)) return false;
    parts->chain = bytes.Take(count * sizeof(uint64_t));
    parts->has_chain = true;
  }
  if ((type & PERF_SAMPLE_RAW) != 0) parts->raw = bytes.Take(bytes.Read<uint32_t>());
  return bytes.ok() && ReadUserPart(bytes, event.described.attr, parts);
}

bool SampleReader::ReadUserPart(FileBytes& bytes, const EventAttr& attr, SampleParts* parts) {
  if ((attr.sample_type & (PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)) == 0) return true;
  if ((attr.sample_type & PERF_SAMPLE_BRANCH_STACK) != 0 &&
      !SkipBranches(bytes, attr.branch_sample_type)) {
    return false;
  }
  if ((attr.sample_type & PERF_SAMPLE_REGS_USER) != 0) {
    const auto abi = bytes.Read<uint64_t>();
    const auto count = static_cast<size_t>(std::popcount(attr.user_registers));
    const auto words = abi == PERF_SAMPLE_REGS_ABI_NONE ? std::span<const std::byte>()
                                                        : bytes.Take(count * sizeof(uint64_t));
    // Those of a 32-bit program are not walked.
    if (abi == PERF_SAMPLE_REGS_ABI_64) parts->user_registers = words;
  }
  if ((attr.sample_type & PERF_SAMPLE_STACK_USER) != 0) {
    const auto reserved = bytes.Take(bytes.Read<uint64_t>());
    const uint64_t used = reserved.empty() ? 0 : bytes.Read<uint64_t>();
    parts->user_stack = reserved.first(std::min<uint64_t>(used, reserved.size()));
  }
  return bytes.ok();
}

bool SampleReader::SkipBranches(FileBytes& bytes, uint64_t branch_type) {
  constexpr uint64_t kHardwareIndex = 1U << 17;  // PERF_SAMPLE_BRANCH_HW_INDEX, Linux 5.7
  constexpr uint64_t kCounters = 1U << 19;       // PERF_SAMPLE_BRANCH_COUNTERS, Linux 6.8
  const auto count = bytes.Read<uint64_t>();
  if ((branch_type & kHardwareIndex) != 0) bytes.Skip(8);
  const size_t each = (branch_type & kCounters) != 0 ? 32 : 24;
  if (count > bytes.remaining() / each) return false;
  bytes.Skip(count * each);
  return bytes.ok();
}

// Counter values: of the event, or of all events of its group.
bool SampleReader::SkipRead(FileBytes& bytes, uint64_t format) {
  const auto has = [format](uint64_t bit) -> uint64_t { return (format & bit) != 0 ? 1 : 0; };
  const uint64_t times = has(PERF_FORMAT_TOTAL_TIME_ENABLED) + has(PERF_FORMAT_TOTAL_TIME_RUNNING);
  const uint64_t of_each = 1 + has(PERF_FORMAT_ID) + has(PERF_FORMAT_LOST);
  uint64_t count = 1;
  if (has(PERF_FORMAT_GROUP) != 0) count = bytes.Read<uint64_t>();
  if (count > bytes.remaining() / 8) return false;
  bytes.Skip(static_cast<size_t>((times + count * of_each) * 8));
  return bytes.ok();
}

// The raw data with these fields in this machine's byte order.
std::span<const std::byte> SampleReader::Native(
    std::span<const std::byte> raw, std::initializer_list<kernel_compat::FieldLayout> fields) {
  raw_.assign(raw.begin(), raw.end());
  for (const kernel_compat::FieldLayout& field : fields) {
    if (field.end() > raw_.size()) continue;
    std::byte* at = raw_.data() + field.offset;
    switch (field.size) {
      case 2: SwapAt<uint16_t>(at); break;
      case 4: SwapAt<uint32_t>(at); break;
      case 8: SwapAt<uint64_t>(at); break;
      default: break;
    }
  }
  return raw_;
}

bool SampleReader::ReadSwitch(std::span<const std::byte> raw,
                              const kernel_compat::SwitchFormat& format, model::Switch* event) {
  if (swap_) {
    kernel_compat::FieldLayout location = format.prev_comm;  // of a dynamic name, a number
    if (location.kind == kernel_compat::FieldKind::kPlain) location = {};
    raw = Native(
        raw, {format.common_pid, format.prev_pid, format.prev_state, format.next_pid, location});
  }
  return kernel_compat::ReadSwitch(raw, format, event) && model::IsPossibleTid(event->prev_tid) &&
         model::IsPossibleTid(event->next_tid);
}

kernel_compat::WakeupRecord SampleReader::ReadWakeup(std::span<const std::byte> raw,
                                                     const kernel_compat::WakeupFormat& format,
                                                     model::Tid* tid) {
  if (swap_) raw = Native(raw, {format.pid, format.success});
  const auto result = kernel_compat::ReadWakeup(raw, format, tid);
  const bool wrong = result == kernel_compat::WakeupRecord::kWakeup && !model::IsPossibleTid(*tid);
  return wrong ? kernel_compat::WakeupRecord::kTooShort : result;
}

// ---- call chains --------------------------------------------------------------------------------

model::CallChain SampleReader::ReadChain(std::span<const std::byte> words, uint32_t max_stack) {
  model::CallChain chain = known_chains_.Find(Addresses(words), [&](std::span<const uint64_t> all) {
    return splitter_.Split(all, max_stack);
  });
  chain.truncated = chain.kernel.size() + chain.user.size() >= max_stack;
  return chain;
}

model::UserCopy SampleReader::ReadCopy(const SampleParts& parts, const EventAttr& attr) {
  if (swap_ || parts.user_registers.empty()) return {};
  registers_.resize(parts.user_registers.size() / sizeof(uint64_t));
  std::memcpy(registers_.data(), parts.user_registers.data(), parts.user_registers.size());
  return {attr.user_registers, registers_, parts.user_stack};
}

std::span<const uint64_t> SampleReader::Addresses(std::span<const std::byte> words) {
  const size_t count = words.size() / sizeof(uint64_t);
  const bool aligned = reinterpret_cast<uintptr_t>(words.data()) % alignof(uint64_t) == 0;
  if (aligned && !swap_) return {reinterpret_cast<const uint64_t*>(words.data()), count};
  addresses_.resize(count);
  for (size_t i = 0; i < count; ++i) {
    addresses_[i] = LoadInteger<uint64_t>(words.data() + i * sizeof(uint64_t), swap_);
  }
  return addresses_;
}

}  // namespace offcpu::source::replay
