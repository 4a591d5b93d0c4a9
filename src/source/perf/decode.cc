// SPDX-License-Identifier: MIT
#include "source/perf/decode.h"

#include "base/bytes.h"
#include "source/perf/record.h"
#include "source/task_bodies.h"

namespace offcpu::source::perf {
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

Decoder::Decoder(DecodeOptions options)
    : options_(std::move(options)), pids_(options_.translate_pids), chains_(options_.max_stack) {}

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
  SampleHead head;
  if (!ReadHead(record, &head)) {
    ++counters_.malformed;
    return;
  }
  Bytes bytes(record.subspan(sizeof(perf_event_header) + sizeof(head)));
  model::CallChain chain;
  if (kind == EventKind::kStackSwitch && !chains_.Read(bytes, &chain)) {
    ++counters_.malformed;
    return;
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
      if (result == kernel_compat::WakeupRecord::kTooShort || !model::IsPossibleTid(tid)) {
        ++counters_.malformed;
      } else if (result == kernel_compat::WakeupRecord::kWakeup) {
        sink.OnWakeup({time, cpu, pids_.Translate(tid)});
      }
      return;
    }
    case EventKind::kCgroupAttach: {
      const auto move = kernel_compat::ReadCgroupAttach(raw, options_.cgroup_format);
      if (!move || !model::IsPossibleTid(move->tid)) {
        ++counters_.malformed;
      } else {
        sink.OnCgroupMove({time, pids_.Translate(move->tid), move->path});
      }
      return;
    }
    case EventKind::kSideband:
    case EventKind::kContextSwitches:
    case EventKind::kSwitchRecords: ++counters_.malformed;  // these events have no samples
  }
}

void Decoder::DecodeSwitch(std::span<const std::byte> raw, const SampleHead& head,
                           const model::CallChain& chain, Nanos time, model::Cpu cpu,
                           model::EventSink& sink) {
  model::Switch event;
  if (!kernel_compat::ReadSwitch(raw, options_.switch_format, &event) ||
      !model::IsPossibleTid(event.prev_tid) || !model::IsPossibleTid(event.next_tid)) {
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

bool Decoder::DecodeOther(std::span<const std::byte> record, Nanos time, model::Cpu cpu,
                          model::EventSink& sink) {
  const perf_event_header header = HeaderOf(record);
  if (header.type == PERF_RECORD_SWITCH_CPU_WIDE) {
    ++counters_.events;
    // The thread that goes is told by the tracepoint. Half of these records are such.
    if ((header.misc & PERF_RECORD_MISC_SWITCH_OUT) != 0) return true;
  }
  RecordTrailer trailer;
  if (!ReadTrailer(record, &trailer)) return false;
  const model::Tid current_tid = trailer.tid;
  Bytes body(BodyOf(record));
  switch (header.type) {
    case PERF_RECORD_SWITCH_CPU_WIDE:
      // Written by the thread itself: it is the one in the trailer (A12).
      if (!model::IsPossibleTid(current_tid)) return current_tid == -1;
      sink.OnSwitchIn({time, cpu, current_tid});
      return true;
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT: {
      model::Fork fork;
      fork.time = time;
      const TaskBody read = ReadForkBody(body, &fork);
      if (read != TaskBody::kRead) return read == TaskBody::kForeign;
      if (header.type == PERF_RECORD_FORK) {
        sink.OnFork(fork);
      } else {
        sink.OnExit({time, fork.pid, fork.tid, options_.exit_is_last});
      }
      return true;
    }
    case PERF_RECORD_COMM: {
      model::CommChange change;
      change.time = time;
      change.cpu = cpu;
      const TaskBody read = ReadCommBody(body, header.misc, &change);
      if (read != TaskBody::kRead) return read == TaskBody::kForeign;
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
      if (!model::IsPossibleTid(map.pid)) return false;
      sink.OnMap(map);
      return true;
    }
    default: ++counters_.unknown; return true;
  }
}

}  // namespace offcpu::source::perf
