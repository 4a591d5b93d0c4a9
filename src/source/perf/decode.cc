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

struct Decoder::Head {
  model::Pid pid = 0;
  model::Tid tid = 0;
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
  Bytes bytes(record);
  bytes.Skip(sizeof(perf_event_header) + 8);  // identifier
  Head head;
  head.pid = bytes.Read<int32_t>();
  head.tid = bytes.Read<int32_t>();
  bytes.Skip(8 + 8);  // time, CPU
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

model::CallChain Decoder::DecodeChain(std::span<const std::byte> addresses) {
  enum { kKernel, kUser, kOther } part = kKernel;
  size_t kernel_end = 0;
  size_t end = 0;
  for (size_t at = 0; at < addresses.size() && end < chain_.size(); at += sizeof(uint64_t)) {
    uint64_t address = 0;
    std::memcpy(&address, addresses.data() + at, sizeof(address));
    if (address >= static_cast<uint64_t>(PERF_CONTEXT_MAX)) {  // a marker, not code
      const bool kernel = address == static_cast<uint64_t>(PERF_CONTEXT_KERNEL);
      const bool user = address == static_cast<uint64_t>(PERF_CONTEXT_USER);
      part = kernel ? kKernel : user ? kUser : kOther;
      continue;
    }
    if (part == kOther || (part == kKernel && kernel_end != end)) continue;
    if (address == 0) continue;  // where a walk by frame pointers came to the end of a broken chain
    chain_[end++] = address;
    if (part == kKernel) kernel_end = end;
  }
  const std::span<const uint64_t> all(chain_.data(), end);
  model::CallChain chain;
  chain.kernel = all.first(kernel_end);
  chain.user = all.subspan(kernel_end);
  chain.truncated = end >= options_.max_stack;
  chain.present = true;
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
