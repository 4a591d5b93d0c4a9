// SPDX-License-Identifier: MIT
#include "source/bpf/decode.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "model/sched_event.h"

namespace offcpu::source::bpf {
namespace {

constexpr size_t kIntervalHead = offsetof(offcpu_bpf_interval, addresses);

// The record as a `T`, if it is long enough for one.
template <class T>
bool Read(std::span<const std::byte> record, T* value, size_t bytes = sizeof(T)) {
  if (record.size() < bytes) return false;
  std::memcpy(value, record.data(), bytes);
  return true;
}

model::HandOver::Before BeforeOf(uint8_t before) {
  switch (before) {
    case OFFCPU_BPF_WAS_OFF: return model::HandOver::kWasOff;
    case OFFCPU_BPF_RAN: return model::HandOver::kRan;
    default: return model::HandOver::kUnknown;
  }
}

uint32_t WantedStates(const Request& request) {
  uint32_t wanted = 0;
  const auto add = [&](uint32_t state, bool preempted) {
    if (request.state_wanted && !request.state_wanted(state, preempted)) return;
    wanted |= 1U << offcpu_bpf_state_index(state, preempted ? 1 : 0);
  };
  add(model::kTaskRunning, false);
  add(model::kTaskRunning, true);
  for (uint32_t state = 1; state <= model::kTaskIdle; state <<= 1) add(state, false);
  return wanted;
}

}  // namespace

offcpu_bpf_settings SettingsOf(const Request& request) {
  using Kind = Target::Kind;
  offcpu_bpf_settings settings{};
  settings.min_off_cpu = request.min_off_cpu.value_or(OFFCPU_BPF_NO_LIMIT);
  settings.max_off_cpu = request.max_off_cpu.value_or(OFFCPU_BPF_NO_LIMIT);
  switch (request.target.kind) {
    case Kind::kEverything: settings.scope = OFFCPU_BPF_EVERYTHING; break;
    case Kind::kThreads: settings.scope = OFFCPU_BPF_THREADS; break;
    case Kind::kProcesses:
    case Kind::kCommand: settings.scope = OFFCPU_BPF_PROCESSES; break;
  }
  if (request.target.kind == Kind::kCommand) {
    settings.command = static_cast<uint32_t>(request.target.processes.front());
  }
  const kernel_compat::WantedReasons& reasons = request.chain_reasons;
  settings.reasons = (reasons.blocked ? 1U << OFFCPU_BPF_BLOCKED : 0) |
                     (reasons.runnable ? 1U << OFFCPU_BPF_RUNNABLE : 0) |
                     (reasons.preempted ? 1U << OFFCPU_BPF_PREEMPTED : 0);
  settings.states = WantedStates(request);
  settings.kernel_stacks = request.chains.kernel ? 1 : 0;
  settings.user_stacks = request.chains.user ? 1 : 0;
  settings.wakeups = request.wakeups ? 1 : 0;
  settings.follow_children = request.target.follow_children ? 1 : 0;
  return settings;
}

Nanos TimeOfRecord(std::span<const std::byte> record) {
  offcpu_bpf_head head{};
  return Read(record, &head) ? head.time : 0;
}

model::Reason ReasonOf(uint32_t reason) {
  return reason < OFFCPU_BPF_REASONS ? static_cast<model::Reason>(reason + 1)
                                     : model::Reason::kUnspecified;
}

model::TrackedAccount AccountOf(model::Pid pid, model::Tid tid, Nanos from, Nanos to,
                                const offcpu_bpf_account& account) {
  model::TrackedAccount result;
  result.pid = pid;
  result.tid = tid;
  result.from = from;
  result.to = to;
  result.account.on_cpu = account.on_cpu;
  result.account.blocked = {account.sleeping, account.runqueue, account.unsplit};
  result.account.runnable = account.runnable;
  result.account.preempted = account.preempted;
  result.account.unknown = account.unknown;
  result.account.voluntary_switches = account.voluntary_switches;
  result.account.involuntary_switches = account.involuntary_switches;
  result.account.switch_ins = account.switch_ins;
  result.lost_intervals = account.lost.count;
  result.lost_time = account.lost.ns;
  result.hidden_intervals = account.hidden.count;
  result.hidden_time = account.hidden.ns;
  constexpr model::Rejection kCauses[OFFCPU_BPF_CAUSES] = {
      model::Rejection::kReason, model::Rejection::kMinimum, model::Rejection::kMaximum,
      model::Rejection::kState};
  for (uint32_t reason = 0; reason < OFFCPU_BPF_REASONS; ++reason) {
    for (size_t cause = 0; cause < OFFCPU_BPF_CAUSES; ++cause) {
      const offcpu_bpf_sum& sum = account.rejected[reason][cause];
      if (sum.count == 0) continue;
      result.rejected.push_back({ReasonOf(reason), kCauses[cause], sum.count, sum.ns});
    }
  }
  return result;
}

model::CallChain Decoder::ChainOf(std::span<const uint64_t> kernel,
                                  std::span<const uint64_t> user) const {
  model::CallChain chain;
  chain.present = true;
  chain.kernel = kernel.first(std::min(kernel.size(), max_stack_));
  chain.user = user.first(std::min(user.size(), max_stack_ - chain.kernel.size()));
  // A chain that fills its place may have been longer.
  chain.truncated = kernel.size() + user.size() >= max_stack_ ||
                    kernel.size() >= OFFCPU_BPF_MAX_FRAMES || user.size() >= OFFCPU_BPF_MAX_FRAMES;
  return chain;
}

bool Decoder::DecodeInterval(std::span<const std::byte> bytes, model::EventSink& sink) const {
  offcpu_bpf_interval record{};
  if (!Read(bytes, &record, kIntervalHead)) return false;
  const size_t frames = size_t{record.kernel_frames} + record.user_frames;
  if (record.kernel_frames > OFFCPU_BPF_MAX_FRAMES || record.user_frames > OFFCPU_BPF_MAX_FRAMES ||
      bytes.size() < kIntervalHead + frames * sizeof(uint64_t) ||
      record.reason >= OFFCPU_BPF_REASONS || record.head.time < record.start) {
    return false;
  }
  std::memcpy(record.addresses, bytes.data() + kIntervalHead, frames * sizeof(uint64_t));
  model::TrackedInterval tracked;
  tracked.pid = static_cast<model::Pid>(record.head.pid);
  tracked.tid = static_cast<model::Tid>(record.head.tid);
  tracked.interval.reason = ReasonOf(record.reason);
  tracked.interval.task_state = record.task_state;
  tracked.interval.start = record.start;
  tracked.interval.end = record.head.time;
  tracked.interval.wakeup = record.wakeup;
  std::memcpy(tracked.interval.comm.data(), record.comm, sizeof(record.comm) - 1);
  const std::span<const uint64_t> kernel{reinterpret_cast<const uint64_t*>(record.addresses),
                                         record.kernel_frames};
  const std::span<const uint64_t> user{
      reinterpret_cast<const uint64_t*>(record.addresses) + record.kernel_frames,
      record.user_frames};
  if (frames != 0) tracked.chain = ChainOf(kernel, user);
  sink.OnTrackedInterval(tracked);
  return true;
}

void Decoder::Decode(std::span<const std::byte> record, model::EventSink& sink) {
  offcpu_bpf_head head{};
  offcpu_bpf_seen seen{};
  offcpu_bpf_end end{};
  bool whole = Read(record, &head);
  const auto pid = static_cast<model::Pid>(head.pid);
  const auto tid = static_cast<model::Tid>(head.tid);
  if (whole && head.type == OFFCPU_BPF_INTERVAL) {
    whole = DecodeInterval(record, sink);
  } else if (whole && head.type == OFFCPU_BPF_SEEN) {
    whole = Read(record, &seen);
    if (whole)
      sink.OnHandOver({head.time, pid, tid, seen.wakeup, BeforeOf(seen.before), seen.fresh != 0});
  } else if (whole && (head.type == OFFCPU_BPF_END || head.type == OFFCPU_BPF_TAKEOVER)) {
    whole = Read(record, &end);
    if (whole) {
      model::TrackedAccount account = AccountOf(pid, tid, end.first, head.time, end.account);
      account.ended = true;
      sink.OnTrackedAccount(account);
      // perf has no exit record of this id.
      if (head.type == OFFCPU_BPF_TAKEOVER) sink.OnExit({head.time, pid, tid});
    }
  } else {
    whole = false;
  }
  if (!whole) ++malformed_;
}

}  // namespace offcpu::source::bpf
