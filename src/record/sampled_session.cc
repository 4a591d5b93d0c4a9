// SPDX-License-Identifier: MIT
#include "record/sampled_session.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "process/proc_reader.h"
#include "process/syscall_names.h"
#include "process/thread_counters.h"
#include "record/watched_thread.h"
#include "source/limits.h"

namespace offcpu::record {
namespace {

constexpr Nanos kRescan = kNanosPerSecond;
// Of one CPU, for the looks; with the scans it stays below 2 %.
constexpr double kMaxShare = 0.013;
constexpr Nanos kCostSpan = kNanosPerSecond / 4;
// Threads that run when the window begins or ends are looked at in small steps until the kernel
// has brought their counters up to date, which it does at each tick: 1 to 10 ms.
constexpr Nanos kSettleStep = 500'000;
constexpr int kSettleSteps = 22;

Nanos ThreadCpuTime() { return ReadClock(CLOCK_THREAD_CPUTIME_ID); }

// A moment of /proc/PID/stat as CLOCK_MONOTONIC; 0 if it was before that began.
Nanos MonotonicOfTicks(uint64_t ticks) {
  const auto hertz = static_cast<uint64_t>(::sysconf(_SC_CLK_TCK));
  const Nanos offset = ReadClock(CLOCK_BOOTTIME) - MonotonicNow();  // time asleep, never negative
  const auto time =
      static_cast<Nanos>(static_cast<unsigned __int128>(ticks) * kNanosPerSecond / hertz);
  return time > offset ? time - offset : 0;
}

// Whether the process runs programs of this word size, as far as can be seen.
bool IsNative(model::Pid pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/exe";
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<unsigned char, EI_CLASS + 1> head{};
  if (!fd || ::pread(fd.get(), head.data(), head.size(), 0) != static_cast<ssize_t>(head.size())) {
    return false;
  }
  return head[EI_CLASS] == (sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32);
}

}  // namespace

SampledSession::SampledSession(const Options& options)
    : options_(options),
      stacks_(options.kernel_stacks && ThreadFiles::CanReadStacks()),
      target_(options.target),
      clock_(options.sample_hz) {
  threads_.push_back(nullptr);
}

SampledSession::~SampledSession() = default;

Result<void> SampledSession::Begin() {
  begin_ = MonotonicNow();
  Scan();
  Settle();
  cost_since_ = MonotonicNow();
  return clock_.Start(cost_since_);
}

// ---- who is watched -----------------------------------------------------------------------------

void SampledSession::Scan() {
  const Nanos before = std::exchange(scanned_, MonotonicNow());
  std::vector<SampledTarget::Thread> found = target_.Scan();
  std::unordered_map<model::Pid, Process> processes;
  for (const SampledTarget::Thread& thread : found) {
    if (processes.contains(thread.pid)) continue;
    const auto stat = process::ReadThreadStat(thread.pid, thread.pid);
    if (!stat) continue;
    const model::Comm name = process::NameBehindLoader(thread.pid, stat->comm).value_or(stat->comm);
    processes[thread.pid] = {std::string(model::CommView(name)), IsNative(thread.pid)};
  }
  processes_ = std::move(processes);
  std::erase_if(found, [this](const SampledTarget::Thread& thread) {
    const auto known = by_tid_.find(thread.tid);
    if (known == by_tid_.end()) return false;
    if (!known->second->ended) return true;
    // The id may be another thread's by now.
    const auto stat = process::ReadThreadStat(thread.pid, thread.tid);
    return !stat || stat->start_ticks == known->second->start_ticks;
  });
  for (const SampledTarget::Thread& thread : found) Watch(thread, before);
  std::erase_if(alive_, [](const Watched* thread) { return thread->ended; });
  for (Watched* thread : alive_) {
    if (thread->counters.switch_ins != thread->switches_read_at) ReadSwitches(*thread);
    const auto process = processes_.find(thread->pid);
    if (process != processes_.end()) thread->process = process->second.name;
  }
}

void SampledSession::Watch(const SampledTarget::Thread& found, Nanos scanned_before) {
  const auto stat = process::ReadThreadStat(found.pid, found.tid);
  if (!stat || stat->task_state == model::kTaskZombie || stat->task_state == model::kTaskDead) {
    return;
  }
  if (threads_.size() > kMaxWatchedThreads) {
    ++not_watched_;
    return;
  }
  // Checked for a few threads at once, because counting the open ones takes time.
  constexpr size_t kAtOnce = 64;
  if (descriptors_ < ThreadFiles::kDescriptors &&
      source::EnsureDescriptors(kAtOnce * ThreadFiles::kDescriptors)) {
    descriptors_ += kAtOnce * ThreadFiles::kDescriptors;
  }
  const bool keep = descriptors_ >= ThreadFiles::kDescriptors;
  if (keep) descriptors_ -= ThreadFiles::kDescriptors;
  auto thread = std::make_unique<Watched>(
      found.pid, found.tid, static_cast<model::ThreadRow>(threads_.size()), stacks_, keep);
  thread->start_ticks = stat->start_ticks;
  thread->kernel_thread = stat->kernel_thread;
  thread->comm = model::CommView(stat->comm);
  thread->process = processes_[found.pid].name;
  thread->inner_tid = process::InnerTid(found.pid, found.tid);
  thread->inner_pid =
      found.pid == found.tid ? thread->inner_tid : process::InnerTid(found.pid, found.pid);
  if (found.newborn) {
    const Nanos born = MonotonicOfTicks(stat->start_ticks);
    thread->account.SetBorn(std::clamp(born, scanned_before, MonotonicNow()));
  }
  ReadSwitches(*thread);
  if (!found.newborn) thread->switches_before = thread->switches;
  if (!Look(*thread, Depth::kAlways)) return;
  by_tid_[found.tid] = thread.get();
  alive_.push_back(thread.get());
  threads_.push_back(std::move(thread));
}

void SampledSession::ReadSwitches(Watched& thread) {
  const auto text = ReadSmallFile(fmt::format("/proc/{}/task/{}/status", thread.pid, thread.tid));
  const auto switches = text ? process::ParseSwitchCounts(*text) : std::nullopt;
  if (!switches) return;
  thread.switches = *switches;
  thread.switches_read_at = thread.counters.switch_ins;
}

bool SampledSession::TargetEnded() const {
  const bool can_end = options_.target.kind == Target::Kind::kProcesses ||
                       options_.target.kind == Target::Kind::kThreads;
  return can_end && std::all_of(alive_.begin(), alive_.end(),
                                [](const Watched* thread) { return thread->ended; });
}

// ---- looking ------------------------------------------------------------------------------------

// False when the thread has ended.
bool SampledSession::Look(Watched& thread, Depth depth) {
  const Nanos now = MonotonicNow();
  thread.ended = !Refresh(thread, depth);
  if (thread.ended) return false;
  thread.account.Look(now, thread.counters, thread.asleep);
  return true;
}

bool SampledSession::Refresh(Watched& thread, Depth depth) {
  const auto text = thread.files.Read(ThreadFiles::kSchedStat);
  if (!text) return false;
  const bool changed = *text != thread.counters_text;
  if (changed) {
    const auto counters = process::ParseSchedStat(*text);
    if (!counters) return false;
    thread.counters = *counters;
    thread.counters_text = *text;
  }
  if (!changed && thread.same_place && depth != Depth::kAlways) return true;
  const auto stat_text = thread.files.Read(ThreadFiles::kStat);
  const auto stat = stat_text ? process::ParseThreadStat(*stat_text) : std::nullopt;
  if (!stat || stat->task_state == model::kTaskZombie || stat->task_state == model::kTaskDead) {
    return false;
  }
  thread.asleep = stat->task_state != model::kTaskRunning;
  thread.comm = model::CommView(stat->comm);
  // What runs, or waits for a CPU, does so until its counters change.
  thread.same_place = !thread.asleep;
  thread.task_state = stat->task_state;
  return true;
}

// Of a thread that was just found asleep.
void SampledSession::FindPlace(Watched& thread) {
  SampledPlace place;
  place.thread = thread.row;
  place.task_state = thread.task_state;
  place.comm = thread.comm;
  place.process = thread.process;
  place.wanted = options_.kernel_stacks;
  bool moved = false;
  if (place.wanted) {
    if (const auto text = thread.files.Read(ThreadFiles::kSyscall)) {
      if (const auto call = process::ParseWaitingCall(*text)) place.syscall = call->number;
      if (processes_[thread.pid].native) place.name = process::SyscallName(place.syscall);
    }
    if (const auto text = thread.files.Read(ThreadFiles::kPlace)) {
      if (stacks_) {
        place.kernel = process::ParseKernelStack(*text);
      } else if (const auto name = process::ParseWaitChannel(*text); !name.empty()) {
        place.kernel.emplace_back(name);
      }
    }
    // It may have gone on between the readings, which then do not belong together.
    const auto counters = thread.files.Read(ThreadFiles::kSchedStat);
    moved = !counters || *counters != thread.counters_text;
  }
  if (moved) {
    ++torn_;
    place.syscall = -1;
    place.kernel.clear();
  }
  if (place.wanted && !moved && place.kernel.empty()) ++unplaced_;
  thread.same_place = !place.wanted || !place.kernel.empty();
  thread.cell = places_.Find(place);
}

void SampledSession::Sample() {
  const Nanos now = MonotonicNow();
  if (!clock_.Take(now)) return;
  const Nanos cpu = ThreadCpuTime();
  ++turn_;
  for (size_t i = 0; i < alive_.size(); ++i) {
    Watched& thread = *alive_[i];
    if (thread.ended) continue;
    if ((turn_ + i) % stride_ != 0) {
      ++spared_;
      continue;
    }
    if (!Look(thread, Depth::kIfChanged) || !thread.asleep) continue;
    if (!thread.same_place) FindPlace(thread);
    places_.Add(thread.cell, now - begin_, stride_);
    ++samples_;
  }
  if (now - scanned_ >= kRescan) Scan();
  cost_ += ThreadCpuTime() - cpu;
  LimitCost(now);
}

// The stride is chosen without regard to what threads do, so samples stay without bias; each
// stands for so many looks.
void SampledSession::LimitCost(Nanos now) {
  if (now - cost_since_ < kCostSpan) return;
  const double share = static_cast<double>(cost_) / static_cast<double>(now - cost_since_);
  const double wanted = stride_ * share / kMaxShare;
  if (wanted > stride_) {
    stride_ = static_cast<uint32_t>(std::min(wanted + 1, 1000.0));
  } else if (wanted < stride_ / 2.0) {
    stride_ = std::max<uint32_t>(1, stride_ / 2);
  }
  cost_since_ = now;
  cost_ = 0;
}

void SampledSession::Settle() {
  for (int step = 0; step < kSettleSteps; ++step) {
    std::vector<Watched*> running;
    for (Watched* thread : alive_) {
      if (!thread->ended && !thread->account.settled()) running.push_back(thread);
    }
    if (running.empty()) return;
    const timespec pause{0, static_cast<long>(kSettleStep)};
    ::nanosleep(&pause, nullptr);
    for (Watched* thread : running) Look(*thread, Depth::kIfChanged);
  }
}

}  // namespace offcpu::record
