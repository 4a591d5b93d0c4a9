// SPDX-License-Identifier: MIT
#include "source/perf/switch_decode.h"

#include "base/bytes.h"
#include "base/check.h"
#include "source/perf/record.h"

#ifndef PERF_RECORD_MISC_SWITCH_OUT_PREEMPT  // Linux 4.17
#define PERF_RECORD_MISC_SWITCH_OUT_PREEMPT (1 << 14)
#endif

namespace offcpu::source::perf {
namespace {

DecodeOptions RestOptions(const SwitchDecodeOptions& options) {
  DecodeOptions rest;
  // A thread's own events end with its exit record, before its last switch-out.
  rest.exit_is_last = !options.all_threads;
  return rest;
}

}  // namespace

SwitchDecoder::SwitchDecoder(SwitchDecodeOptions options)
    : options_(options), chains_(options.max_stack), rest_(RestOptions(options)) {}

DecodeCounters SwitchDecoder::counters() const {
  DecodeCounters sum = rest_.counters();
  sum.events += counters_.events;
  sum.malformed += counters_.malformed;
  return sum;
}

SwitchDecoder::CpuState& SwitchDecoder::CpuAt(model::Cpu cpu) {
  OFFCPU_CHECK(cpu >= 0);
  const auto at = static_cast<size_t>(cpu);
  if (at >= cpus_.size()) cpus_.resize(at + 1);
  return cpus_[at];
}

void SwitchDecoder::OnGap(model::Cpu cpu) {
  CpuState& state = CpuAt(cpu);
  state.last = CpuState::kNothing;
  state.forked = kNobody;
  state.has_sample = false;
}

void SwitchDecoder::Decode(std::span<const std::byte> record, EventKind kind, Nanos time,
                           model::Cpu cpu, model::EventSink& sink) {
  switch (HeaderOf(record).type) {
    case PERF_RECORD_SAMPLE: KeepSample(record, time, CpuAt(cpu)); return;
    case PERF_RECORD_SWITCH:
    case PERF_RECORD_SWITCH_CPU_WIDE:
      if (!DecodeSwitchRecord(record, time, cpu, sink)) ++counters_.malformed;
      return;
    default:
      if (NoteProcessRecord(record, cpu)) rest_.Decode(record, kind, time, cpu, sink);
  }
}

void SwitchDecoder::KeepSample(std::span<const std::byte> record, Nanos time, CpuState& cpu) {
  SampleHead head{};
  model::CallChain chain;
  const bool whole = ReadHead(record, &head);
  Bytes bytes(whole ? record.subspan(sizeof(perf_event_header) + sizeof(head))
                    : std::span<const std::byte>());
  if (!whole || !chains_.Read(bytes, &chain)) {
    ++counters_.malformed;
    return;
  }
  Sample& sample = cpu.sample;
  if (cpu.has_sample && sample.tid == head.tid) {
    ++repeated_;
    return;
  }
  cpu.has_sample = true;
  sample.tid = head.tid;
  sample.time = time;
  sample.kernel_frames = chain.kernel.size();
  sample.truncated = chain.truncated;
  sample.frames.assign(chain.kernel.begin(), chain.kernel.end());
  sample.frames.insert(sample.frames.end(), chain.user.begin(), chain.user.end());
}

bool SwitchDecoder::DecodeSwitchRecord(std::span<const std::byte> record, Nanos time,
                                       model::Cpu cpu, model::EventSink& sink) {
  const perf_event_header header = HeaderOf(record);
  RecordTrailer trailer;
  if (!ReadTrailer(record, &trailer)) return false;
  // -1: a thread that was reaped already, and runs for the last time.
  const bool reaped = trailer.tid == -1;
  if (!reaped && !model::IsPossibleTid(trailer.tid)) return false;
  model::Tid other = kNobody;
  if (header.type == PERF_RECORD_SWITCH_CPU_WIDE) {
    Bytes body(BodyOf(record));
    body.Skip(4);  // next_prev_pid
    other = body.Read<int32_t>();
    if (!body.ok() || (other != kNobody && !model::IsPossibleTid(other))) return false;
  }
  CpuState& state = CpuAt(cpu);
  ++counters_.events;
  if ((header.misc & PERF_RECORD_MISC_SWITCH_OUT) == 0) {
    const bool again = state.last == CpuState::kIn && state.tid == trailer.tid;
    repeated_ += again ? 1 : 0;
    state.last = CpuState::kIn;
    state.tid = trailer.tid;
    state.has_sample = false;
    if (!again && !reaped) sink.OnSwitchIn({time, cpu, trailer.tid});
    return true;
  }
  model::Switch event;
  event.time = time;
  event.cpu = cpu;
  event.prev_tid = trailer.tid;
  event.prev_pid = trailer.pid > 0 ? trailer.pid : -1;
  event.next_tid = other;
  const bool runs_on = (header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0;
  event.prev_state = runs_on ? model::kTaskRunning : model::kTaskUnknownState;
  SwitchOut(event, state, sink);
  return true;
}

void SwitchDecoder::SwitchOut(const model::Switch& event, CpuState& cpu, model::EventSink& sink) {
  model::Switch out = event;
  const bool again = cpu.last == CpuState::kOut && cpu.tid == event.prev_tid;
  if (!again) Attach(&out, cpu);
  cpu.has_sample = false;
  // Who was reaped is known from the switch-in.
  if (event.prev_tid == -1) out.prev_tid = cpu.last == CpuState::kIn ? cpu.tid : kNobody;
  cpu.last = CpuState::kOut;
  cpu.tid = event.prev_tid;
  if (again) {
    ++repeated_;
    return;
  }
  if (out.prev_tid == kNobody) return;  // the switch-in of the next one tells that it has left
  const bool blocked = out.prev_state != model::kTaskRunning;
  if (event.prev_tid == -1 || (blocked && exiting_.contains(out.prev_tid))) {
    out.prev_state = model::kTaskDead;
    exiting_.erase(out.prev_tid);
  }
  sink.OnSwitch(out);
}

void SwitchDecoder::Attach(model::Switch* event, CpuState& cpu) const {
  const Sample& sample = cpu.sample;
  if (!cpu.has_sample || sample.tid != event->prev_tid) return;
  event->time = sample.time;
  const bool blocked = event->prev_state != model::kTaskRunning;
  const kernel_compat::WantedReasons& wanted = options_.chain_reasons;
  if (blocked ? !wanted.blocked : !(wanted.runnable || wanted.preempted)) return;
  const std::span<const uint64_t> frames(sample.frames);
  event->chain.kernel = frames.first(sample.kernel_frames);
  event->chain.user = frames.subspan(sample.kernel_frames);
  event->chain.truncated = sample.truncated;
  event->chain.present = true;
}

// False: the same was told before.
bool SwitchDecoder::NoteProcessRecord(std::span<const std::byte> record, model::Cpu cpu) {
  const perf_event_header header = HeaderOf(record);
  Bytes body(BodyOf(record));
  CpuState& state = CpuAt(cpu);
  switch (header.type) {
    case PERF_RECORD_FORK: {
      body.Skip(8);  // pid, ppid
      const auto tid = body.Read<int32_t>();
      if (!body.ok()) break;
      const bool again = tid > 0 && state.forked == tid;
      state.forked = tid;
      exiting_.erase(tid);
      repeated_ += again ? 1 : 0;
      return !again;
    }
    case PERF_RECORD_EXIT: {
      body.Skip(8);
      const auto tid = body.Read<int32_t>();
      if (options_.all_threads && body.ok() && tid > 0) exiting_.insert(tid);
      break;
    }
    case PERF_RECORD_COMM: {
      if ((header.misc & PERF_RECORD_MISC_COMM_EXEC) == 0) break;
      body.Skip(4);
      const auto tid = body.Read<int32_t>();
      // A thread that called execve has taken over its leader's id: the leader that ended, if it is
      // still on a CPU, is not meant by it any more.
      exiting_.erase(tid);
      for (CpuState& each : cpus_) {
        if (&each != &state && each.tid == tid) each.last = CpuState::kNothing;
      }
      break;
    }
    default: break;
  }
  return true;
}

}  // namespace offcpu::source::perf
