// SPDX-License-Identifier: MIT
#include "source/perf/decode.h"

#include <cstring>

#include "base/bytes.h"

namespace offcpu::source::perf {
namespace {

// PID_MAX_LIMIT (include/linux/threads.h). A larger id means that fields were read at wrong places.
constexpr int64_t kMaxPid = 1 << 22;

bool PossiblePid(int64_t pid) { return pid >= 0 && pid <= kMaxPid; }

// Head of a sample behind perf_event_header: kSampleHead's fields in the order of perf_event.h.
constexpr size_t kSampleTimeAt = sizeof(perf_event_header) + 8 + 8;
// Trailer of other records: TID, TIME, CPU, IDENTIFIER, 8 bytes each.
constexpr size_t kTrailerBytes = 32;
constexpr size_t kTrailerTimeAt = 8;

perf_event_header HeaderOf(std::span<const std::byte> record) {
  perf_event_header header{};
  if (record.size() >= sizeof(header)) std::memcpy(&header, record.data(), sizeof(header));
  return header;
}

// Not a marker between contexts, and not the zero with which a walk by frame pointers ends when the
// chain was broken.
bool IsFrame(uint64_t address) { return address - 1 < static_cast<uint64_t>(PERF_CONTEXT_MAX) - 1; }

// The frames at the start, up to the first word that is none. Looks at four together: a chain has
// dozens, and this is done for each.
std::span<const uint64_t> LeadingFrames(std::span<const uint64_t> words) {
  size_t end = 0;
  while (end + 4 <= words.size() && (IsFrame(words[end]) & IsFrame(words[end + 1]) &
                                     IsFrame(words[end + 2]) & IsFrame(words[end + 3]))) {
    end += 4;
  }
  while (end < words.size() && IsFrame(words[end])) ++end;
  return words.first(end);
}

}  // namespace

Nanos TimeOfRecord(std::span<const std::byte> record) {
  const perf_event_header header = HeaderOf(record);
  size_t at = kSampleTimeAt;
  if (header.type != PERF_RECORD_SAMPLE) {
    if (record.size() < sizeof(header) + kTrailerBytes) return 0;
    at = record.size() - kTrailerBytes + kTrailerTimeAt;
  }
  Nanos time = 0;
  if (record.size() >= at + sizeof(time)) std::memcpy(&time, record.data() + at, sizeof(time));
  return time;
}

model::Tid PidTranslator::Learn(model::Tid raw, model::Tid seen) {
  if (!active_) return raw;
  if (seen < 0) return Translate(raw);
  if (seen > 0) known_[raw] = seen;
  return seen;
}

model::Tid PidTranslator::Translate(model::Tid raw) const {
  if (!active_) return raw;
  const auto found = known_.find(raw);
  return found == known_.end() ? 0 : found->second;
}

// What kSampleHead puts at the start of each sample.
struct Decoder::Head {
  uint64_t identifier;
  int32_t pid;
  int32_t tid;
  uint64_t time;
  uint32_t cpu;
  uint32_t reserved;
};

Decoder::Decoder(DecodeOptions options)
    : options_(std::move(options)), pids_(options_.translate_pids) {
  chain_.resize((1U << 16) / sizeof(uint64_t));  // as many as a record can hold
}

void Decoder::Decode(std::span<const std::byte> record, EventKind kind, Nanos time, model::Cpu cpu,
                     model::EventSink& sink) {
  if (HeaderOf(record).type == PERF_RECORD_SAMPLE) {
    DecodeSample(record, kind, time, cpu, sink);
  } else if (!DecodeOther(record, time, cpu, sink)) {
    ++counters_.malformed;
  }
}

void Decoder::DecodeSample(std::span<const std::byte> record, EventKind kind, Nanos time,
                           model::Cpu cpu, model::EventSink& sink) {
  Head head;
  if (record.size() < sizeof(perf_event_header) + sizeof(head)) {
    ++counters_.malformed;
    return;
  }
  std::memcpy(&head, record.data() + sizeof(perf_event_header), sizeof(head));
  Bytes bytes(record.subspan(sizeof(perf_event_header) + sizeof(head)));
  model::CallChain chain;
  if (kind == EventKind::kStackSwitch) {
    const auto count = bytes.Read<uint64_t>();
    if (count > bytes.remaining() / sizeof(uint64_t)) {
      ++counters_.malformed;
      return;
    }
    chain = DecodeChain(bytes.Take(count * sizeof(uint64_t)));
  }
  const auto raw = bytes.Take(bytes.Read<uint32_t>());
  if (!bytes.ok()) {
    ++counters_.malformed;
    return;
  }
  ++counters_.events;
  switch (kind) {
    case EventKind::kStackSwitch:
    case EventKind::kPlainSwitch: DecodeSwitch(raw, head, chain, time, cpu, sink); return;
    case EventKind::kWakeup: {
      model::Tid tid = 0;
      const auto result = kernel_compat::ReadWakeup(raw, options_.wakeup_format, &tid);
      if (result == kernel_compat::WakeupRecord::kTooShort || !PossiblePid(tid)) {
        ++counters_.malformed;
      } else if (result == kernel_compat::WakeupRecord::kWakeup) {
        sink.OnWakeup({time, cpu, pids_.Translate(tid)});
      }
      return;
    }
    case EventKind::kCgroupAttach: {
      const auto move = kernel_compat::ReadCgroupAttach(raw, options_.cgroup_format);
      if (!move || !PossiblePid(move->tid)) {
        ++counters_.malformed;
      } else {
        sink.OnCgroupMove({time, pids_.Translate(move->tid), move->path});
      }
      return;
    }
    case EventKind::kSideband:
    case EventKind::kSwitchRecords: ++counters_.malformed;  // these events have no samples
  }
}

void Decoder::DecodeSwitch(std::span<const std::byte> raw, const Head& head,
                           const model::CallChain& chain, Nanos time, model::Cpu cpu,
                           model::EventSink& sink) {
  model::Switch event;
  if (!kernel_compat::ReadSwitch(raw, options_.switch_format, &event) ||
      !PossiblePid(event.prev_tid) || !PossiblePid(event.next_tid)) {
    ++counters_.malformed;
    return;
  }
  event.time = time;
  event.cpu = cpu;
  // A reaped thread's head says -1 at its last switch-out; prev_pid still tells who it was (K7).
  event.prev_pid = head.pid > 0 ? head.pid : -1;
  event.prev_tid = pids_.Learn(event.prev_tid, head.tid);
  event.next_tid = pids_.Translate(event.next_tid);
  event.chain = chain;
  sink.OnSwitch(event);
}

model::CallChain Decoder::DecodeChain(std::span<const std::byte> bytes) {
  const std::span<const uint64_t> all = Addresses(bytes);
  // Nearly every chain is the kernel's frames and then the user's; those are used where they lie.
  std::span<const uint64_t> rest = all;
  const auto skip = [&rest](uint64_t context) {
    const bool there = !rest.empty() && rest.front() == context;
    if (there) rest = rest.subspan(1);
    return there;
  };
  model::CallChain chain;
  skip(static_cast<uint64_t>(PERF_CONTEXT_KERNEL));
  chain.kernel = LeadingFrames(rest);
  rest = rest.subspan(chain.kernel.size());
  if (skip(static_cast<uint64_t>(PERF_CONTEXT_USER))) {
    chain.user = LeadingFrames(rest);
    rest = rest.subspan(chain.user.size());
  }
  if (!rest.empty()) chain = CopyFrames(all);
  chain.truncated = chain.kernel.size() + chain.user.size() >= options_.max_stack;
  chain.present = true;
  return chain;
}

// Records are aligned to 8 bytes, and with kSampleHead before it so is a chain.
std::span<const uint64_t> Decoder::Addresses(std::span<const std::byte> bytes) {
  if (reinterpret_cast<uintptr_t>(bytes.data()) % alignof(uint64_t) != 0) {
    std::memcpy(chain_.data(), bytes.data(), bytes.size());
    return {chain_.data(), bytes.size() / sizeof(uint64_t)};
  }
  return {reinterpret_cast<const uint64_t*>(bytes.data()), bytes.size() / sizeof(uint64_t)};
}

// A chain with frames of others, or in another order; may lie in chain_ already.
model::CallChain Decoder::CopyFrames(std::span<const uint64_t> all) {
  enum { kKernel, kUser, kOther } part = kKernel;
  size_t kernel_end = 0;
  size_t end = 0;
  for (const uint64_t address : all) {
    if (address >= static_cast<uint64_t>(PERF_CONTEXT_MAX)) {
      const bool kernel = address == static_cast<uint64_t>(PERF_CONTEXT_KERNEL);
      const bool user = address == static_cast<uint64_t>(PERF_CONTEXT_USER);
      part = kernel ? kKernel : user ? kUser : kOther;
      continue;
    }
    if (part == kOther || (part == kKernel && kernel_end != end) || !IsFrame(address)) continue;
    chain_[end++] = address;
    if (part == kKernel) kernel_end = end;
  }
  const std::span<const uint64_t> frames(chain_.data(), end);
  model::CallChain chain;
  chain.kernel = frames.first(kernel_end);
  chain.user = frames.subspan(kernel_end);
  return chain;
}

bool Decoder::DecodeOther(std::span<const std::byte> record, Nanos time, model::Cpu cpu,
                          model::EventSink& sink) {
  const perf_event_header header = HeaderOf(record);
  if (record.size() < sizeof(header) + kTrailerBytes) return false;
  Bytes trailer(record.last(kTrailerBytes));
  trailer.Skip(4);  // pid
  const auto current_tid = trailer.Read<int32_t>();
  Bytes body(record.subspan(sizeof(header), record.size() - sizeof(header) - kTrailerBytes));
  switch (header.type) {
    case PERF_RECORD_SWITCH_CPU_WIDE:
      // Written by the thread itself: in the trailer it is the one that comes, or goes (A12).
      if ((header.misc & PERF_RECORD_MISC_SWITCH_OUT) != 0) return true;
      if (!PossiblePid(current_tid)) return current_tid == -1;
      sink.OnSwitchIn({time, cpu, current_tid});
      return true;
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT: {
      model::Fork fork;
      fork.time = time;
      fork.pid = body.Read<int32_t>();
      fork.parent_pid = body.Read<int32_t>();
      fork.tid = body.Read<int32_t>();
      fork.parent_tid = body.Read<int32_t>();
      if (!body.ok()) return false;
      if (fork.pid <= 0 || fork.tid <= 0) return true;  // outside our pid namespace
      if (!PossiblePid(fork.pid) || !PossiblePid(fork.tid)) return false;
      if (header.type == PERF_RECORD_FORK) {
        sink.OnFork(fork);
      } else {
        sink.OnExit({time, fork.pid, fork.tid});
      }
      return true;
    }
    case PERF_RECORD_COMM: {
      model::CommChange change;
      change.time = time;
      change.cpu = cpu;
      change.pid = body.Read<int32_t>();
      change.tid = body.Read<int32_t>();
      change.exec = (header.misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
      change.comm = model::MakeComm(body.TakeString());
      if (!body.ok()) return false;
      if (change.pid <= 0 || change.tid <= 0) return true;
      if (!PossiblePid(change.pid) || !PossiblePid(change.tid)) return false;
      sink.OnCommChange(change);
      return true;
    }
    case PERF_RECORD_MMAP2: {
      model::Map map;
      map.time = time;
      map.pid = body.Read<int32_t>();
      body.Skip(4);  // tid
      map.start = body.Read<uint64_t>();
      map.length = body.Read<uint64_t>();
      map.file_offset = body.Read<uint64_t>();
      map.device_major = body.Read<uint32_t>();
      map.device_minor = body.Read<uint32_t>();
      map.inode = body.Read<uint64_t>();
      body.Skip(8 + 4 + 4);  // inode generation, protection, flags
      map.path = body.TakeString();
      if (!body.ok()) return false;
      if (map.pid <= 0) return true;
      if (!PossiblePid(map.pid)) return false;
      sink.OnMap(map);
      return true;
    }
    default: ++counters_.unknown; return true;
  }
}

}  // namespace offcpu::source::perf
