// SPDX-License-Identifier: MIT
#include "source/bpf/bpf_source.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/files.h"
#include "base/parse.h"
#include "base/unique_fd.h"
#include "source/bpf/load_module.h"
#include "source/host.h"

namespace offcpu::source::bpf {
namespace {

constexpr size_t kMaxRingBytes = 64U << 20;
constexpr size_t kSidebandBytes = 512U << 10;
// Far enough ahead to write it down before it comes.
constexpr Nanos kAhead = 200'000;

Error ErrorOf(const offcpu_bpf_error& error) {
  if (error.number == EPERM || error.number == EACCES) {
    return MakeError(ErrorCode::kPermission, error.text,
                     "be root, or give CAP_BPF and CAP_PERFMON; see offcpu-permissions(7)");
  }
  return MakeError(ErrorCode::kUnsupported, error.text,
                   "needs BPF rings and type information (Linux 5.8, CONFIG_DEBUG_INFO_BTF)");
}

// Room for the threads there are, and as many that come: an entry is free again at its thread's
// end.
uint32_t RoomForThreads() {
  constexpr uint32_t kLeast = 16'384;
  constexpr uint32_t kMost = 1U << 20;
  uint32_t threads = 0;
  const auto text = ReadSmallFile("/proc/loadavg");  // "0.1 0.2 0.3 1/234 5678"
  if (text) {
    const auto fields = Split(*text, ' ');
    const auto counts = fields.size() > 3 ? Split(fields[3], '/') : std::vector<std::string_view>{};
    if (counts.size() != 2 || !ParseNumber(counts[1], &threads)) threads = 0;
  }
  return std::clamp(threads * 4, kLeast, kMost);
}

void SleepUntil(Nanos time) {
  timespec at{};
  at.tv_sec = static_cast<time_t>(time / kNanosPerSecond);
  at.tv_nsec = static_cast<long>(time % kNanosPerSecond);
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR) {
  }
}

// Sets a boundary of the window to a moment that had not come when it was written, so that no event
// was judged by the old value on the wrong side of it; returns once it has come.
Nanos SetAhead(volatile __u64* boundary) {
  for (;;) {
    const Nanos time = MonotonicNow() + kAhead;
    *boundary = time;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (MonotonicNow() >= time) continue;
    SleepUntil(time);
    return time;
  }
}

}  // namespace

// Delivers the program's records before each side-band event that is later.
class BpfSource::Interleaver : public model::EventSink {
 public:
  Interleaver(BpfSource& source, model::EventSink& sink, Nanos limit)
      : source_(source), sink_(sink), limit_(limit) {}

  void OnSwitch(const model::Switch&) override {}
  void OnSwitchIn(const model::SwitchIn&) override {}
  void OnWakeup(const model::Wakeup&) override {}
  void OnCgroupMove(const model::CgroupMove&) override {}
  void OnFork(const model::Fork& event) override {
    if (Advance(event.time)) sink_.OnFork(event);
  }
  void OnExit(const model::Exit& event) override {
    if (Advance(event.time)) sink_.OnExit(event);
  }
  void OnMap(const model::Map& event) override {
    if (Advance(event.time)) sink_.OnMap(event);
  }
  void OnLoss(const model::Loss& loss) override { sink_.OnLoss(loss); }
  void OnCommChange(const model::CommChange& event) override {
    if (!Advance(event.time)) return;
    model::CommChange change = event;
    // The program opened the window of a command a moment before perf wrote this.
    const Nanos begun = *source_.functions_->window_start(source_.bpf_.get());
    const Target& target = source_.request_.target;
    if (event.exec && target.kind == Target::Kind::kCommand && !source_.command_seen_ &&
        event.pid == target.processes.front() && begun <= event.time) {
      source_.command_seen_ = true;
      change.time = begun;
    }
    sink_.OnCommChange(change);
  }

 private:
  bool Advance(Nanos time) {
    if (time > limit_) return false;
    // What the command's exec is about comes behind it.
    const bool holds =
        source_.request_.target.kind == Target::Kind::kCommand && !source_.command_seen_;
    if (!holds) source_.DeliverUpTo(time, sink_);
    return true;
  }

  BpfSource& source_;
  model::EventSink& sink_;
  const Nanos limit_;
};

Result<std::unique_ptr<Source>> BpfSource::Open(const Request& request) {
  if (request.cgroup_moves) {
    return MakeError(ErrorCode::kUnsupported, "the bpf back end does not follow a cgroup",
                     "use --backend perf");
  }
  if (InOwnPidNamespace()) {
    return MakeError(ErrorCode::kUnsupported,
                     "the bpf back end tells ids of the initial pid namespace only",
                     "use --backend perf, or run in the host's pid namespace (--pid=host)");
  }
  std::unique_ptr<BpfSource> source(new BpfSource(request));
  auto cpus = OnlineCpus();
  if (!cpus) return cpus.error();
  source->cpus_ = std::move(*cpus);
  const auto max_stack = ChooseMaxStack(request.chains.max_stack);
  if (!max_stack) return max_stack.error();
  if (*max_stack > OFFCPU_BPF_MAX_FRAMES) {
    source->warnings_.push_back(fmt::format("stacks of at most {} frames instead of {}",
                                            int{OFFCPU_BPF_MAX_FRAMES}, *max_stack));
  }
  source->decoder_ = std::make_unique<Decoder>(*max_stack);
  auto functions = LoadModule();
  if (!functions) return functions.error();
  source->functions_ = *functions;
  if (auto opened = source->OpenProgram(); !opened) return opened.error();
  auto sideband = perf::PerfSource::OpenSideband(std::min(request.buffer_bytes, kSidebandBytes));
  if (!sideband) return sideband.error();
  source->sideband_ = std::move(*sideband);
  return std::unique_ptr<Source>(std::move(source));
}

Result<void> BpfSource::OpenProgram() {
  ring_bytes_ = std::bit_ceil(std::max(request_.buffer_bytes, size_t{1} << 16));
  ring_bytes_ = std::min(std::bit_ceil(ring_bytes_ * cpus_.size()), kMaxRingBytes);
  offcpu_bpf_options options{};
  options.settings = SettingsOf(request_);
  options.settings.self = static_cast<uint32_t>(::getpid());
  options.max_threads = RoomForThreads();
  options.max_followed = options.max_threads;
  options.ring_bytes = static_cast<uint32_t>(ring_bytes_);
  offcpu_bpf_error error{};
  offcpu_bpf* bpf = functions_->open(&options, &error);
  if (bpf == nullptr) return ErrorOf(error);
  bpf_ = std::unique_ptr<offcpu_bpf, Closer>(bpf, Closer{functions_});
  const Target& target = request_.target;
  std::vector<int32_t> ids;
  if (target.kind == Target::Kind::kProcesses) ids = target.processes;
  if (target.kind == Target::Kind::kThreads) ids = target.threads;
  for (int32_t id : ids) {
    if (functions_->follow(bpf, static_cast<uint32_t>(id), &error) != 0) return ErrorOf(error);
  }
  return {};
}

Result<void> BpfSource::StartSideband() {
  offcpu_bpf_error error{};
  // Attached, it waits for the window to open.
  if (functions_->attach(bpf_.get(), &error) != 0) return ErrorOf(error);
  return sideband_->StartSideband();
}

Result<Nanos> BpfSource::Start() {
  last_losses_ = request_.target.kind == Target::Kind::kCommand
                     ? MonotonicNow()
                     : SetAhead(functions_->window_start(bpf_.get()));
  return last_losses_;
}

// ---- records ------------------------------------------------------------------------------------

void BpfSource::TakeRecords() {
  bytes_.erase(bytes_.begin(), next_ < records_.size()
                                   ? bytes_.begin() + static_cast<ptrdiff_t>(records_[next_].begin)
                                   : bytes_.end());
  const size_t moved = next_ < records_.size() ? records_[next_].begin : 0;
  records_.erase(records_.begin(), records_.begin() + static_cast<ptrdiff_t>(next_));
  for (Record& record : records_) record.begin -= moved;
  next_ = 0;
  const auto take = [](void* context, const void* data, size_t size) {
    auto* source = static_cast<BpfSource*>(context);
    const std::span<const std::byte> record{static_cast<const std::byte*>(data), size};
    source->records_.push_back({TimeOfRecord(record), source->bytes_.size(), size});
    source->bytes_.insert(source->bytes_.end(), record.begin(), record.end());
  };
  functions_->consume(bpf_.get(), take, this);
}

void BpfSource::DeliverUpTo(Nanos time, model::EventSink& sink) {
  for (; next_ < records_.size() && records_[next_].time <= time; ++next_) {
    const Record& record = records_[next_];
    decoder_->Decode(std::span<const std::byte>(bytes_).subspan(record.begin, record.size), sink);
  }
}

offcpu_bpf_cpu BpfSource::CountersOf(model::Cpu cpu) const {
  offcpu_bpf_cpu counters{};
  if (functions_->cpu(bpf_.get(), cpu, &counters) != 0) return {};
  return counters;
}

void BpfSource::DeliverLosses(Nanos now, model::EventSink& sink) {
  for (model::Cpu cpu : cpus_) {
    const offcpu_bpf_cpu counters = CountersOf(cpu);
    const uint64_t lost = counters.lost - lost_[cpu];
    const uint64_t untracked = counters.untracked - untracked_[cpu];
    // Threads without an entry: of those that were not handed over nothing is known any more.
    if (untracked != 0) sink.OnLoss({cpu, last_losses_, now, untracked});
    if (lost != 0) sink.OnTrackedLoss({cpu, last_losses_, now, lost});
    lost_[cpu] = counters.lost;
    untracked_[cpu] = counters.untracked;
  }
  last_losses_ = now;
}

void BpfSource::Drain(model::EventSink& sink) {
  // As with perf's rings: what is older than the clock of the drain before is in the ring (KF 5).
  const Nanos now = MonotonicNow();
  TakeRecords();
  Interleaver interleaver(*this, sink, ~Nanos{0});
  sideband_->Drain(interleaver);
  if (request_.target.kind != Target::Kind::kCommand || command_seen_) {
    DeliverUpTo(last_drain_, sink);
  }
  DeliverLosses(now, sink);
  last_drain_ = now;
}

// ---- the end ------------------------------------------------------------------------------------

Nanos BpfSource::CloseWindow() {
  const Nanos end = SetAhead(functions_->window_end(bpf_.get()));
  functions_->detach(bpf_.get());
  // Waits for programs that still run (RCU).
  ::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
  return end;
}

// Threads that sleep on have no switch-in at which their kernel stack could be taken.
void BpfSource::ReadSleepers() {
  if (!request_.chains.kernel) return;
  offcpu_bpf_error error{};
  const UniqueFd fd(functions_->sleepers(bpf_.get(), &error));
  if (!fd) {
    warnings_.push_back(fmt::format("kernel stacks of threads asleep at the end are missing: {}",
                                    ErrorOf(error).message));
    return;
  }
  std::vector<std::byte> bytes;
  std::vector<std::byte> part(64U << 10);
  for (;;) {
    const ssize_t got = ::read(fd.get(), part.data(), part.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) break;
    bytes.insert(bytes.end(), part.begin(), part.begin() + got);
  }
  offcpu_bpf_sleeper sleeper{};
  for (size_t at = 0; at + sizeof(sleeper) <= bytes.size(); at += sizeof(sleeper)) {
    std::memcpy(&sleeper, bytes.data() + at, sizeof(sleeper));
    const size_t frames = std::min<size_t>(sleeper.kernel_frames, OFFCPU_BPF_MAX_FRAMES);
    sleeper_stacks_[static_cast<model::Tid>(sleeper.tid)].assign(sleeper.addresses,
                                                                 sleeper.addresses + frames);
  }
}

// A thread that is off at the end of the window.
void BpfSource::DeliverOpen(model::Tid tid, const offcpu_bpf_thread& thread, Nanos window_end,
                            model::EventSink& sink) {
  model::TrackedInterval tracked;
  tracked.pid = static_cast<model::Pid>(thread.pid);
  tracked.tid = tid;
  model::Interval& interval = tracked.interval;
  interval.reason = ReasonOf(thread.reason);
  interval.task_state = thread.task_state;
  interval.start = thread.since;
  interval.end = window_end;
  interval.wakeup = thread.wakeup;
  interval.right_open = true;
  std::memcpy(interval.comm.data(), thread.comm, sizeof(thread.comm) - 1);
  offcpu_bpf_stack user{};
  size_t user_frames = 0;
  if (thread.user_bytes != 0 &&
      functions_->user_stack(bpf_.get(), static_cast<uint32_t>(tid), &user) == 0) {
    user_frames = std::min<size_t>(thread.user_bytes / sizeof(uint64_t), OFFCPU_BPF_MAX_FRAMES);
  }
  const std::vector<uint64_t>& kernel = sleeper_stacks_[tid];
  if (user_frames != 0 || !kernel.empty()) {
    tracked.chain =
        decoder_->ChainOf(kernel, {reinterpret_cast<const uint64_t*>(user.addresses), user_frames});
  }
  sink.OnTrackedInterval(tracked);
}

void BpfSource::DeliverThreads(Nanos window_end, model::EventSink& sink) {
  std::map<model::Tid, offcpu_bpf_thread> threads;
  functions_->threads(
      bpf_.get(),
      [](void* context, __u32 tid, const offcpu_bpf_thread* thread) {
        (*static_cast<std::map<model::Tid, offcpu_bpf_thread>*>(context))[static_cast<int>(tid)] =
            *thread;
      },
      &threads);
  for (auto& [tid, thread] : threads) {
    const auto pid = static_cast<model::Pid>(thread.pid);
    if (thread.state == OFFCPU_BPF_WOKEN) {
      sink.OnWakeup({thread.wakeup, 0, tid});
      continue;
    }
    const bool ended = thread.state == OFFCPU_BPF_ENDED;
    const Nanos open = window_end - thread.since;
    offcpu_bpf_account& account = thread.account;
    if (thread.state == OFFCPU_BPF_RUNNING) account.on_cpu += open;
    if (thread.state == OFFCPU_BPF_HIDDEN) account.unknown += open;
    if (thread.state == OFFCPU_BPF_OFF) {
      DeliverOpen(tid, thread, window_end, sink);
      if (thread.reason == OFFCPU_BPF_RUNNABLE) account.runnable += open;
      if (thread.reason == OFFCPU_BPF_PREEMPTED) account.preempted += open;
      if (thread.reason == OFFCPU_BPF_BLOCKED) {
        const Nanos slept = thread.wakeup == 0 ? open : thread.wakeup - thread.since;
        (thread.wakeup != 0 || request_.wakeups ? account.sleeping : account.unsplit) += slept;
        account.runqueue += open - slept;
      }
    }
    model::TrackedAccount tracked =
        AccountOf(pid, tid, thread.first, ended ? thread.since : window_end, account);
    tracked.ended = ended;
    sink.OnTrackedAccount(tracked);
  }
}

Nanos BpfSource::Stop(model::EventSink& sink) {
  const Nanos end = CloseWindow();
  TakeRecords();
  ReadSleepers();
  Interleaver interleaver(*this, sink, end);
  sideband_->Stop(interleaver);
  DeliverUpTo(~Nanos{0}, sink);
  DeliverLosses(end, sink);
  DeliverThreads(end, sink);
  return end;
}

std::vector<int> BpfSource::poll_fds() const {
  std::vector<int> fds = sideband_->poll_fds();
  fds.push_back(functions_->poll_fd(bpf_.get()));
  return fds;
}

std::optional<int64_t> BpfSource::ExecStartOffset(model::Cpu cpu) const {
  const offcpu_bpf_cpu counters = CountersOf(cpu);
  if (counters.exec_start == 0) return std::nullopt;
  return counters.exec_start;
}

std::vector<Note> BpfSource::notes() const {
  uint64_t switches = 0;
  uint64_t outside_wakeups = 0;
  uint64_t hidden = 0;
  for (model::Cpu cpu : cpus_) {
    const offcpu_bpf_cpu counters = CountersOf(cpu);
    switches += counters.switches;
    outside_wakeups += counters.outside_wakeups;
    hidden += counters.hidden;
  }
  return {{"switches", switches},
          {"outside_wakeups", outside_wakeups},
          {"hidden_switches", hidden},
          {"malformed_records", decoder_->malformed()},
          {"missed_events", functions_->missed(bpf_.get())},
          {"ring_bytes", ring_bytes_}};
}

}  // namespace offcpu::source::bpf
