// SPDX-License-Identifier: MIT
#include "source/replay/sample.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <cstring>

#include "source/replay/perf_reader.h"

namespace offcpu::source::replay {
namespace {

bool PossiblePid(int64_t pid) { return pid >= 0 && pid <= kMaxPid; }

// Not a marker between contexts, and not the zero of a broken chain.
bool IsFrame(uint64_t address) { return address - 1 < static_cast<uint64_t>(PERF_CONTEXT_MAX) - 1; }

// The frames at the start, up to the first word that is none; four at a time, as there are dozens.
std::span<const uint64_t> LeadingFrames(std::span<const uint64_t> words) {
  size_t end = 0;
  while (end + 4 <= words.size() && (IsFrame(words[end]) & IsFrame(words[end + 1]) &
                                     IsFrame(words[end + 2]) & IsFrame(words[end + 3]))) {
    end += 4;
  }
  while (end < words.size() && IsFrame(words[end])) ++end;
  return words.first(end);
}

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
  if (!swap_) return raw;
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
  kernel_compat::FieldLayout location = format.prev_comm;  // of a dynamic name, a number
  if (location.kind == kernel_compat::FieldKind::kPlain) location = {};
  const auto native = Native(
      raw, {format.common_pid, format.prev_pid, format.prev_state, format.next_pid, location});
  return kernel_compat::ReadSwitch(native, format, event) && PossiblePid(event->prev_tid) &&
         PossiblePid(event->next_tid);
}

kernel_compat::WakeupRecord SampleReader::ReadWakeup(std::span<const std::byte> raw,
                                                     const kernel_compat::WakeupFormat& format,
                                                     model::Tid* tid) {
  const auto native = Native(raw, {format.pid, format.success});
  const auto result = kernel_compat::ReadWakeup(native, format, tid);
  const bool wrong = result == kernel_compat::WakeupRecord::kWakeup && !PossiblePid(*tid);
  return wrong ? kernel_compat::WakeupRecord::kTooShort : result;
}

// ---- call chains --------------------------------------------------------------------------------

model::CallChain SampleReader::ReadChain(std::span<const std::byte> words, uint32_t max_stack) {
  const std::span<const uint64_t> all = Addresses(words);
  // Nearly every chain is the kernel's frames and then the user's; those are used where they lie.
  std::span<const uint64_t> rest = all;
  const auto skip = [&rest](uint64_t context) {
    const bool there = !rest.empty() && rest.front() == context;
    if (there) rest = rest.subspan(1);
    return there;
  };
  model::CallChain chain;
  if (skip(static_cast<uint64_t>(PERF_CONTEXT_KERNEL))) {
    chain.kernel = LeadingFrames(rest);
    rest = rest.subspan(chain.kernel.size());
  }
  if (skip(static_cast<uint64_t>(PERF_CONTEXT_USER))) {
    chain.user = LeadingFrames(rest);
    rest = rest.subspan(chain.user.size());
  }
  if (!rest.empty()) chain = CopyFrames(all);
  chain.truncated = chain.kernel.size() + chain.user.size() >= max_stack;
  chain.present = true;
  return chain;
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

// A chain with frames of others, or with zeros in it, or in another order.
model::CallChain SampleReader::CopyFrames(std::span<const uint64_t> all) {
  frames_.clear();
  size_t kernel_end = 0;
  for (const bool kernel : {true, false}) {
    auto context = static_cast<uint64_t>(PERF_CONTEXT_KERNEL);
    for (const uint64_t address : all) {
      if (address >= static_cast<uint64_t>(PERF_CONTEXT_MAX)) {
        context = address;
      } else if (IsFrame(address) && context == static_cast<uint64_t>(kernel ? PERF_CONTEXT_KERNEL
                                                                             : PERF_CONTEXT_USER)) {
        frames_.push_back(address);
      }
    }
    if (kernel) kernel_end = frames_.size();
  }
  const std::span<const uint64_t> frames(frames_);
  model::CallChain chain;
  chain.kernel = frames.first(kernel_end);
  chain.user = frames.subspan(kernel_end);
  return chain;
}

}  // namespace offcpu::source::replay
