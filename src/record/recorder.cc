// SPDX-License-Identifier: MIT
#include "record/recorder.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/log.h"
#include "base/signals.h"
#include "process/proc_reader.h"
#include "process/process_table.h"
#include "record/child.h"
#include "record/follower.h"
#include "record/progress.h"
#include "record/sampled_session.h"
#include "record/session.h"
#include "record/source_request.h"
#include "source/host.h"
#include "source/select.h"

namespace offcpu::record {
namespace {

// Rings are looked at so often even when they fill slowly: short-lived processes are still there
// then, and nothing is more than a second late (D6).
constexpr Nanos kTick = 100'000'000;
constexpr Nanos kRescan = kNanosPerSecond;

// Rings overflow when the reader has to wait behind what it records. Needs CAP_SYS_NICE; without it
// the recording works all the same. Applies to the calling thread alone (sched(7)).
void RaisePriority() {
  constexpr int kReaderNice = -15;
  if (::setpriority(PRIO_PROCESS, 0, kReaderNice) != 0) {
    LogVerbose("the reader runs at ordinary priority (CAP_SYS_NICE is missing)");
  }
}

std::string Describe(const Target& target) {
  switch (target.kind) {
    case Target::Kind::kProcesses: return fmt::format("pid {}", fmt::join(target.pids, ","));
    case Target::Kind::kThreads: return fmt::format("tid {}", fmt::join(target.tids, ","));
    case Target::Kind::kAll: return "all";
    case Target::Kind::kCgroup: return "cgroup " + target.cgroup;
    case Target::Kind::kCommand: return fmt::format("command {}", fmt::join(target.command, " "));
  }
  return "";
}

profile::Origin OriginOf(const Options& options, std::string_view backend, size_t cpus) {
  profile::Origin origin;
  origin.producer = "offcpu " OFFCPU_VERSION;
  origin.backend = backend;
  utsname name{};
  if (::uname(&name) == 0) {
    origin.host = name.nodename;
    origin.kernel_release = name.release;
    origin.machine = name.machine;
  }
  origin.command = options.command_line;
  origin.target = Describe(options.target);
  if (options.selection.blocked) origin.reasons.emplace_back("blocked");
  if (options.selection.runnable) origin.reasons.emplace_back("runnable");
  if (options.selection.preempted) origin.reasons.emplace_back("preempted");
  origin.cpus = static_cast<uint32_t>(cpus);
  origin.time_split = options.time_split;
  return origin;
}

}  // namespace

struct Recorder::Impl {
  explicit Impl(Options the_options) : options(std::move(the_options)) {}

  Result<void> Prepare();
  Result<void> Start();
  Result<void> StartSampling();
  Result<void> Loop();
  Result<void> Take();
  Result<void> AdjustCover();
  bool Ended(Nanos deadline);
  Recording Finish();
  profile::Profile FinishEvents();
  profile::Profile FinishSampling();

  Options options;  // without what the back end can't give, once it is chosen
  std::optional<Child> child;
  std::optional<SignalFd> signals;
  std::string_view backend;
  std::unique_ptr<source::Source> source;
  std::unique_ptr<Session> session;
  std::unique_ptr<SampledSession> sampled;  // in place of source and session
  bool interrupted = false;
  Nanos started = 0;
  Nanos next_rescan = 0;
};

Recorder::Recorder(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}

Recorder::~Recorder() = default;

Result<void> Recorder::Impl::Prepare() {
  auto opened = SignalFd::Open({SIGINT, SIGTERM, SIGHUP, SIGCHLD});
  if (!opened) return opened.error();
  signals = std::move(*opened);
  // A target that is not there is told before anything else.
  process::ProcessTable nobody;
  if (auto checked = Follower(options.target, nobody).Check(); !checked) return checked.error();
  auto opened_source = source::OpenBackEnd(options.backend, RequestOf(options));
  if (!opened_source) return opened_source.error();
  backend = opened_source->back_end->name;
  source = std::move(opened_source->source);
  const std::string better = source::DescribeRefusals(opened_source->refusals);
  LogInfo(fmt::format("back end {}{}{}", backend, better.empty() ? "" : "; ", better));
  if (!source) {
    sampled = std::make_unique<SampledSession>(options);
    return {};
  }
  for (const std::string& warning : source->warnings()) LogWarning(warning);
  LogVerbose(fmt::format("{} CPUs", source->cpu_count()));
  const source::Gives& gives = opened_source->back_end->gives;
  options.time_split = options.time_split && gives.wakeups;
  options.kernel_stacks = options.kernel_stacks && gives.kernel_stacks;
  options.user_stacks = options.user_stacks && gives.user_stacks;
  session = std::make_unique<Session>(options);
  if (const auto covered = source->covered_cpus(); !covered.empty()) {
    LogVerbose(
        fmt::format("switch records on CPU {} too: tracepoints may not tell every switch there",
                    fmt::join(covered, ",")));
  }
  return {};
}

// Samples have no window before the exec: what the command did until then is not looked at.
Result<void> Recorder::Impl::StartSampling() {
  if (child) {
    if (auto running = child->Start(); !running) return running;
  }
  RaisePriority();
  started = MonotonicNow();
  if (auto begun = sampled->Begin(); !begun) return begun;
  LogVerbose("recording");
  return {};
}

Result<void> Recorder::Impl::Start() {
  if (sampled) return StartSampling();
  if (auto begun = source->StartSideband(); !begun) return begun.error();
  session->follower().AddExistingProcesses();
  auto begin = source->Start();
  if (!begin) return begin.error();
  started = *begin;
  next_rescan = started + kRescan;
  session->Begin(started);
  RaisePriority();
  session->SeedExistingThreads();
  session->Flush();
  if (child) {
    if (auto running = child->Start(); !running) return running.error();
  }
  LogVerbose("recording");
  return {};
}

Result<void> Recorder::Impl::AdjustCover() {
  for (model::Cpu cpu : session->TakeIdleBreaks()) {
    const size_t covered_before = source->covered_cpus().size();
    if (auto covered = source->CoverIdle(cpu); !covered) return covered.error();
    if (source->covered_cpus().size() == covered_before) continue;
    LogVerbose(fmt::format("switch records on CPU {} too: its idle task is hidden", cpu));
  }
  for (model::Cpu cpu : source->undecided_cpus()) {
    if (!session->IdleSeen(cpu)) continue;
    source->UncoverIdle(cpu);
    LogVerbose(fmt::format("no switch records on CPU {} any more: its idle task is visible", cpu));
  }
  return {};
}

bool Recorder::Impl::Ended(Nanos deadline) {
  while (const auto signal = signals->Next()) {
    if (*signal != SIGCHLD) interrupted = true;
  }
  if (interrupted || MonotonicNow() >= deadline) return true;
  if (child) return child->Poll().has_value();
  return sampled ? sampled->TargetEnded() : session->TargetEnded();
}

Result<void> Recorder::Impl::Loop() {
  std::vector<pollfd> fds;
  for (int fd : sampled ? std::vector<int>{sampled->poll_fd()} : source->poll_fds()) {
    fds.push_back({fd, POLLIN, 0});
  }
  fds.push_back({signals->fd(), POLLIN, 0});
  Progress progress(options.progress, started);
  const Nanos deadline = options.duration ? started + *options.duration : ~Nanos{0};
  while (!Ended(deadline)) {
    const Nanos now = MonotonicNow();
    const Nanos wait = std::min(kTick, deadline > now ? deadline - now : 0);
    // Rounded up, so that the last wait does not spin.
    ::poll(fds.data(), fds.size(), static_cast<int>((wait + 999'999) / 1'000'000));
    if (auto taken = Take(); !taken) return taken;
    if (sampled) {
      progress.Update(MonotonicNow(), sampled->samples(), "samples", 0);
    } else {
      progress.Update(MonotonicNow(), session->counters().switches, "switches",
                      session->lost_events());
    }
  }
  return {};
}

// What has come since the last time.
Result<void> Recorder::Impl::Take() {
  if (sampled) {
    sampled->Sample();
    return {};
  }
  source->Drain(*session);
  session->Flush();
  if (auto covered = AdjustCover(); !covered) return covered;
  if (options.target.kind == Target::Kind::kCgroup && MonotonicNow() >= next_rescan) {
    session->RescanCgroup();
    next_rescan = MonotonicNow() + kRescan;
  }
  return {};
}

Recording Recorder::Impl::Finish() {
  Recording recording;
  recording.profile = sampled ? FinishSampling() : FinishEvents();
  recording.profile.origin.start_realtime_ns =
      ReadClock(CLOCK_REALTIME) - (MonotonicNow() - recording.profile.origin.start_monotonic_ns);
  if (child) recording.command_status = child->Poll();
  return recording;
}

profile::Profile Recorder::Impl::FinishSampling() {
  profile::Profile frame;
  const auto cpus = source::OnlineCpus();
  frame.origin = OriginOf(options, backend, cpus ? cpus->size() : 0);
  return sampled->Finish(std::move(frame));
}

profile::Profile Recorder::Impl::FinishEvents() {
  const Nanos end = source->Stop(*session);
  profile::Profile frame;
  frame.origin = OriginOf(options, backend, source->cpu_count());
  frame.warnings = source->warnings();
  for (const source::Note& note : source->notes()) {
    if (note.count != 0) frame.notes.push_back({note.name, note.count, 0});
  }
  return session->Finish(end, std::move(frame),
                         [this](model::Cpu cpu) { return source->ExecStartOffset(cpu); });
}

Result<Recording> Recorder::Run() {
  if (impl_->options.target.kind == Target::Kind::kCommand) {
    auto child = Child::Fork(impl_->options.target.command);
    if (!child) return child.error();
    impl_->options.target.pids = {child->pid()};
    impl_->child.emplace(std::move(*child));
  }
  if (auto prepared = impl_->Prepare(); !prepared) return prepared.error();
  if (auto started = impl_->Start(); !started) {
    const int reason = impl_->child ? impl_->child->exec_error() : 0;
    if (reason == 0) return started.error();
    exec_failure_ = reason == ENOENT ? 127 : 126;
    return SystemError("execute " + impl_->options.target.command.front(), reason);
  }
  if (auto looped = impl_->Loop(); !looped) return looped.error();
  impl_->signals.reset();  // a second Ctrl-C ends the program
  return impl_->Finish();
}

int Recorder::WaitForCommand() { return impl_->child ? impl_->child->Wait() : 0; }

}  // namespace offcpu::record
