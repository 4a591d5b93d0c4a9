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
#include "record/child.h"
#include "record/progress.h"
#include "record/session.h"
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

source::Target SourceTarget(const Target& target) {
  using Kind = source::Target::Kind;
  source::Target result;
  switch (target.kind) {
    case Target::Kind::kProcesses: result.kind = Kind::kProcesses; break;
    case Target::Kind::kThreads: result.kind = Kind::kThreads; break;
    case Target::Kind::kCommand: result.kind = Kind::kCommand; break;
    case Target::Kind::kAll:
    case Target::Kind::kCgroup: result.kind = Kind::kEverything; break;
  }
  result.processes = target.pids;
  result.threads = target.tids;
  result.follow_children = target.follow_children;
  return result;
}

source::Request RequestOf(const Options& options) {
  source::Request request;
  request.target = SourceTarget(options.target);
  request.chains = {options.kernel_stacks, options.user_stacks, options.max_stack};
  request.chain_reasons = {options.selection.blocked, options.selection.runnable,
                           options.selection.preempted};
  request.buffer_bytes = options.buffer_bytes;
  request.wakeups = options.time_split;
  request.cgroup_moves = options.target.kind == Target::Kind::kCgroup;
  request.read_exec_start = [](model::Tid tid) { return process::ReadExecStart(::getpid(), tid); };
  request.read_maps = [](model::Pid pid, Nanos time, model::EventSink& sink) {
    const process::Mappings mappings = process::ReadMappings(pid);
    for (model::Map map : mappings.maps) {
      map.time = time;
      sink.OnMap(map);
    }
  };
  return request;
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
  explicit Impl(const Options& the_options) : options(the_options) {}

  Result<void> Prepare();
  Result<void> Start();
  Result<void> Loop();
  Result<void> AdjustCover();
  bool Ended(Nanos deadline);
  Recording Finish();

  const Options& options;
  std::optional<Child> child;
  std::optional<SignalFd> signals;
  std::string_view backend;
  std::unique_ptr<source::Source> source;
  std::unique_ptr<Session> session;
  bool interrupted = false;
  Nanos started = 0;
};

Recorder::Recorder(Options options)
    : options_(std::move(options)), impl_(std::make_unique<Impl>(options_)) {}

Recorder::~Recorder() = default;

Result<void> Recorder::Impl::Prepare() {
  auto opened = SignalFd::Open({SIGINT, SIGTERM, SIGHUP, SIGCHLD});
  if (!opened) return opened.error();
  signals = std::move(*opened);
  session = std::make_unique<Session>(options);
  if (auto checked = session->follower().Check(); !checked) return checked.error();
  auto opened_source = source::OpenBackEnd(options.backend, RequestOf(options));
  if (!opened_source) return opened_source.error();
  backend = opened_source->back_end->name;
  source = std::move(opened_source->source);
  for (const std::string& warning : source->warnings()) LogWarning(warning);
  LogVerbose(fmt::format("back end {}: {} CPUs", backend, source->cpu_count()));
  if (const auto covered = source->covered_cpus(); !covered.empty()) {
    LogVerbose(
        fmt::format("switch records on CPU {} too: tracepoints do not tell every switch there",
                    fmt::join(covered, ",")));
  }
  return {};
}

Result<void> Recorder::Impl::Start() {
  if (auto begun = source->StartSideband(); !begun) return begun.error();
  session->follower().AddExistingProcesses();
  auto begin = source->Start();
  if (!begin) return begin.error();
  started = *begin;
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
    if (auto covered = source->CoverIdle(cpu); !covered) return covered.error();
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
  return session->TargetEnded();
}

Result<void> Recorder::Impl::Loop() {
  std::vector<pollfd> fds;
  for (int fd : source->poll_fds()) fds.push_back({fd, POLLIN, 0});
  fds.push_back({signals->fd(), POLLIN, 0});
  Progress progress(options.progress, started);
  const Nanos deadline = options.duration ? started + *options.duration : ~Nanos{0};
  Nanos next_rescan = started + kRescan;
  while (!Ended(deadline)) {
    const Nanos now = MonotonicNow();
    const Nanos wait = std::min(kTick, deadline > now ? deadline - now : 0);
    // Rounded up, so that the last wait does not spin.
    ::poll(fds.data(), fds.size(), static_cast<int>((wait + 999'999) / 1'000'000));
    source->Drain(*session);
    session->Flush();
    if (auto covered = AdjustCover(); !covered) return covered;
    if (options.target.kind == Target::Kind::kCgroup && MonotonicNow() >= next_rescan) {
      session->RescanCgroup();
      next_rescan += kRescan;
    }
    progress.Update(MonotonicNow(), session->counters().switches, session->lost_events());
  }
  return {};
}

Recording Recorder::Impl::Finish() {
  const Nanos end = source->Stop(*session);
  const Nanos real = ReadClock(CLOCK_REALTIME);
  const Nanos mono = MonotonicNow();
  Recording recording;
  profile::Profile frame;
  frame.origin = OriginOf(options, backend, source->cpu_count());
  frame.warnings = source->warnings();
  for (const source::Note& note : source->notes()) {
    if (note.count != 0) frame.notes.push_back({note.name, note.count, 0});
  }
  recording.profile = session->Finish(
      end, std::move(frame), [this](model::Cpu cpu) { return source->ExecStartOffset(cpu); });
  recording.profile.origin.start_realtime_ns =
      real - (mono - recording.profile.origin.start_monotonic_ns);
  if (child) recording.command_status = child->Poll();
  return recording;
}

Result<Recording> Recorder::Run() {
  if (options_.target.kind == Target::Kind::kCommand) {
    auto child = Child::Fork(options_.target.command);
    if (!child) return child.error();
    options_.target.pids = {child->pid()};
    impl_->child.emplace(std::move(*child));
  }
  if (auto prepared = impl_->Prepare(); !prepared) return prepared.error();
  if (auto started = impl_->Start(); !started) {
    const int reason = impl_->child ? impl_->child->exec_error() : 0;
    if (reason == 0) return started.error();
    exec_failure_ = reason == ENOENT ? 127 : 126;
    return SystemError("execute " + options_.target.command.front(), reason);
  }
  if (auto looped = impl_->Loop(); !looped) return looped.error();
  impl_->signals.reset();  // a second Ctrl-C ends the program
  return impl_->Finish();
}

int Recorder::WaitForCommand() { return impl_->child ? impl_->child->Wait() : 0; }

}  // namespace offcpu::record
