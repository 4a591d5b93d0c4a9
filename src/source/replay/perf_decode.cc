// SPDX-License-Identifier: MIT
#include "source/replay/perf_decode.h"

#include <linux/perf_event.h>

#include <algorithm>

#include "source/replay/file_bytes.h"
#include "source/task_bodies.h"

namespace offcpu::source::replay {
namespace {

constexpr uint32_t kDefaultMaxStack = 127;  // PERF_MAX_STACK_DEPTH
constexpr uint32_t kProtExec = 4;

}  // namespace

void PerfDecoder::Decode(Nanos time, EventTable::Index event, std::span<const std::byte> record,
                         model::EventSink& sink) {
  const EventTable::Event& described = reader_.events().events()[event];
  const auto type = LoadInteger<uint32_t>(record.data(), reader_.swap());
  const bool fine = type == PERF_RECORD_SAMPLE ? DecodeSample(time, described, record, sink)
                                               : DecodeOther(time, described, record, sink);
  if (!fine) ++malformed_;
}

model::Cpu PerfDecoder::CpuFor(model::Tid tid, model::Cpu cpu, model::EventSink& sink) {
  if (!plan_.per_task) return cpu;
  const auto [place, is_new] = own_cpus_.try_emplace(tid, 0);
  if (is_new) {
    place->second = static_cast<model::Cpu>(losses_heard_.size());
    losses_heard_.push_back(losses_);
  }
  uint64_t& heard = losses_heard_[static_cast<size_t>(place->second)];
  if (heard != losses_) {
    heard = losses_;
    model::Loss loss = last_loss_;
    loss.cpu = place->second;
    loss.count = 0;  // counted already
    sink.OnLoss(loss);
  }
  return place->second;
}

void PerfDecoder::DeliverLoss(const model::Loss& loss, model::EventSink& sink) {
  ++losses_;
  last_loss_ = loss;
  sink.OnLoss(loss);
}

// ---- samples ------------------------------------------------------------------------------------

bool PerfDecoder::DecodeSample(Nanos time, const EventTable::Event& event,
                               std::span<const std::byte> record, model::EventSink& sink) {
  SampleParts parts;
  if (!samples_.Read(record, event, &parts)) return false;
  model::Cpu cpu = -1;
  if (event.layout.cpu != 0) {
    const auto number = LoadInteger<uint32_t>(record.data() + event.layout.cpu, reader_.swap());
    if (number < static_cast<uint32_t>(kMaxCpus)) cpu = static_cast<model::Cpu>(number);
  }
  switch (event.role) {
    case Role::kSwitch: return !plan_.tracepoint || DecodeSwitch(time, cpu, event, parts, sink);
    case Role::kContextSwitch: return plan_.tracepoint || KeepChain(cpu, event, parts);
    case Role::kWakeup:
    case Role::kWaking: {
      if (event.role != plan_.wakeup) return true;
      model::Tid tid = 0;
      const auto result =
          samples_.ReadWakeup(parts.raw, reader_.events().wakeup_format(event.role), &tid);
      if (result == kernel_compat::WakeupRecord::kTooShort) return false;
      if (result == kernel_compat::WakeupRecord::kWakeup) sink.OnWakeup({time, cpu, tid});
      return true;
    }
    default: return true;
  }
}

model::CallChain PerfDecoder::ChainOf(const EventTable::Event& event, const SampleParts& parts) {
  const EventAttr& attr = event.described.attr;
  model::CallChain chain;
  if (parts.has_chain) {
    const uint32_t limit = attr.sample_max_stack;
    chain = samples_.ReadChain(parts.chain, limit == 0 ? kDefaultMaxStack : limit);
  }
  chain.copy = samples_.ReadCopy(parts, attr);
  chain.present = chain.present || chain.copy.present();
  return chain;
}

bool PerfDecoder::DecodeSwitch(Nanos time, model::Cpu cpu, const EventTable::Event& event,
                               const SampleParts& parts, model::EventSink& sink) {
  model::Switch out;
  if (!samples_.ReadSwitch(parts.raw, reader_.events().switch_format(), &out)) return false;
  out.time = time;
  // A reaped thread's head says -1 at its last switch-out; prev_pid still tells who it was (E1).
  out.prev_pid = parts.pid > 0 && model::IsPossibleTid(parts.pid) ? parts.pid : -1;
  out.chain = ChainOf(event, parts);
  out.cpu = CpuFor(out.prev_tid, cpu, sink);
  if (out.cpu < 0) return false;
  if (plan_.per_task) out.next_tid = 0;  // its own records tell when it came, if it is recorded
  sink.OnSwitch(out);
  return true;
}

bool PerfDecoder::KeepChain(model::Cpu cpu, const EventTable::Event& event,
                            const SampleParts& parts) {
  if (cpu < 0) cpu = 0;
  if (pending_.size() <= static_cast<size_t>(cpu)) pending_.resize(static_cast<size_t>(cpu) + 1);
  PendingChain& pending = pending_[static_cast<size_t>(cpu)];
  const model::CallChain chain = ChainOf(event, parts);
  pending.tid = chain.present ? parts.tid : -1;
  pending.frames.assign(chain.kernel.begin(), chain.kernel.end());
  pending.frames.insert(pending.frames.end(), chain.user.begin(), chain.user.end());
  pending.kernel_frames = chain.kernel.size();
  pending.truncated = chain.truncated;
  pending.mask = chain.copy.mask;
  pending.registers.assign(chain.copy.registers.begin(), chain.copy.registers.end());
  pending.stack.assign(chain.copy.stack.begin(), chain.copy.stack.end());
  return true;
}

// ---- other records ------------------------------------------------------------------------------

PerfDecoder::Trailer PerfDecoder::TrailerOf(const EventTable::Event& event,
                                            std::span<const std::byte> record) const {
  Trailer trailer;
  const RecordLayout& layout = event.layout;
  const std::byte* end = record.data() + record.size();
  if (layout.trailer_tid != 0) {
    trailer.pid = LoadInteger<int32_t>(end - layout.trailer_tid, reader_.swap());
    trailer.tid = LoadInteger<int32_t>(end - layout.trailer_tid + 4, reader_.swap());
  }
  if (layout.trailer_cpu != 0) {
    const auto cpu = LoadInteger<uint32_t>(end - layout.trailer_cpu, reader_.swap());
    if (cpu < static_cast<uint32_t>(kMaxCpus)) trailer.cpu = static_cast<model::Cpu>(cpu);
  }
  return trailer;
}

bool PerfDecoder::DecodeOther(Nanos time, const EventTable::Event& event,
                              std::span<const std::byte> bytes, model::EventSink& sink) {
  if (bytes.size() < size_t{8} + event.layout.trailer_size) return false;
  Record record;
  record.type = LoadInteger<uint32_t>(bytes.data(), reader_.swap());
  record.misc = LoadInteger<uint16_t>(bytes.data() + 4, reader_.swap());
  record.bytes = bytes.first(bytes.size() - event.layout.trailer_size);
  switch (record.type) {
    case PERF_RECORD_SWITCH:
    case PERF_RECORD_SWITCH_CPU_WIDE:
      return DecodeSwitchRecord(time, record, TrailerOf(event, bytes), sink);
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT: return DecodeTask(time, record, sink);
    case PERF_RECORD_COMM: return DecodeComm(time, record, TrailerOf(event, bytes), sink);
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2: return DecodeMap(time, record, sink);
    default: return true;
  }
}

// Written by the thread itself: the trailer has the one that comes, or goes. The record's own field
// names the other one, and only CPU-wide (A12).
bool PerfDecoder::DecodeSwitchRecord(Nanos time, const Record& record, const Trailer& trailer,
                                     model::EventSink& sink) {
  const bool is_out = (record.misc & PERF_RECORD_MISC_SWITCH_OUT) != 0;
  if (!model::IsPossibleTid(trailer.tid)) return trailer.tid == -1;
  if (is_out && plan_.tracepoint) return true;
  const model::Cpu cpu = CpuFor(trailer.tid, trailer.cpu, sink);
  if (cpu < 0) return false;
  if (!is_out) {
    sink.OnSwitchIn({time, cpu, trailer.tid});
    return true;
  }
  model::Switch out;
  out.time = time;
  out.cpu = cpu;
  out.prev_tid = trailer.tid;
  out.prev_pid = trailer.pid > 0 && model::IsPossibleTid(trailer.pid) ? trailer.pid : -1;
  const bool runs_on = (record.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0;
  out.prev_state = runs_on ? model::kTaskRunning : model::kTaskUnknownState;
  if (!runs_on && exiting_.erase(out.prev_tid) > 0) out.prev_state = model::kTaskDead;
  if (record.type == PERF_RECORD_SWITCH_CPU_WIDE && !plan_.per_task) {
    FileBytes body(record.body(), reader_.swap());
    body.Skip(4);  // process
    const auto next = body.Read<int32_t>();
    if (model::IsPossibleTid(next)) out.next_tid = next;
  }
  const auto at = static_cast<size_t>(std::max(trailer.cpu, 0));
  if (at < pending_.size() && pending_[at].tid == out.prev_tid) {
    const PendingChain& pending = pending_[at];
    const std::span<const uint64_t> frames(pending.frames);
    out.chain.kernel = frames.first(pending.kernel_frames);
    out.chain.user = frames.subspan(pending.kernel_frames);
    out.chain.truncated = pending.truncated;
    out.chain.copy = {pending.mask, pending.registers, pending.stack};
    out.chain.present = true;
    pending_[at].tid = -1;
  }
  sink.OnSwitch(out);
  return true;
}

bool PerfDecoder::DecodeTask(Nanos time, const Record& record, model::EventSink& sink) {
  FileBytes body(record.body(), reader_.swap());
  model::Fork fork;
  fork.time = time;
  const TaskBody read = ReadForkBody(body, &fork);
  if (read != TaskBody::kRead) return read == TaskBody::kForeign;
  if (record.type == PERF_RECORD_FORK) {
    sink.OnFork(fork);
  } else {
    // Events of a task end with it, before it leaves the CPU for the last time.
    sink.OnExit({time, fork.pid, fork.tid, /*last=*/plan_.per_task});
    if (!plan_.per_task && !plan_.tracepoint) exiting_.insert(fork.tid);
  }
  return true;
}

bool PerfDecoder::DecodeComm(Nanos time, const Record& record, const Trailer& trailer,
                             model::EventSink& sink) {
  FileBytes body(record.body(), reader_.swap());
  model::CommChange change;
  change.time = time;
  const TaskBody read = ReadCommBody(body, record.misc, &change);
  if (read != TaskBody::kRead) return read == TaskBody::kForeign;
  change.cpu = time == 0 ? trailer.cpu : CpuFor(change.tid, trailer.cpu, sink);
  sink.OnCommChange(change);
  return true;
}

bool PerfDecoder::DecodeMap(Nanos time, const Record& record, model::EventSink& sink) {
  FileBytes body(record.body(), reader_.swap());
  model::Map map;
  std::string_view build_id;
  bool executable = (record.misc & PERF_RECORD_MISC_MMAP_DATA) == 0;
  map.time = time;
  map.pid = body.Read<int32_t>();
  body.Skip(4);  // tid
  map.start = body.Read<uint64_t>();
  map.length = body.Read<uint64_t>();
  map.file_offset = body.Read<uint64_t>();
  if (record.type == PERF_RECORD_MMAP2) {
    if ((record.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) != 0) {
      const auto size = std::min<size_t>(body.Read<uint8_t>(), 20);
      body.Skip(3);
      const auto id = body.Take(20).first(body.ok() ? size : 0);
      build_id = {reinterpret_cast<const char*>(id.data()), id.size()};
    } else {
      map.device_major = body.Read<uint32_t>();
      map.device_minor = body.Read<uint32_t>();
      map.inode = body.Read<uint64_t>();
      body.Skip(8);  // inode generation
    }
    executable = executable && (body.Read<uint32_t>() & kProtExec) != 0;
    body.Skip(4);  // flags
  }
  map.path = body.TakeString();
  if (!body.ok()) return false;
  if (map.pid <= 0 || !executable) return true;
  if (!model::IsPossibleTid(map.pid)) return false;
  if (build_id.empty()) {
    const auto& known = reader_.features().build_ids;
    const auto found = known.find(std::string(map.path));
    if (found != known.end()) build_id = found->second;
  }
  map.build_id = build_id;
  sink.OnMap(map);
  return true;
}

}  // namespace offcpu::source::replay
