// SPDX-License-Identifier: MIT
#include "source/perf/switch_source.h"

#include <cerrno>

#include <fmt/format.h>

#include "source/host.h"
#include "source/limits.h"

namespace offcpu::source::perf {
namespace {

const char* const kSeePage = "; see offcpu-permissions(7)";

Error WithSwitchHint(const Error& error, bool everything) {
  if (error.code != ErrorCode::kPermission) return error;
  const char* const wanted =
      everything ? "all threads need root, CAP_PERFMON (setcap cap_perfmon+ep) or "
                   "kernel.perf_event_paranoid at 0; with -p, -t or a command one's own processes "
                   "can be recorded without"
                 : "one's own processes need kernel.perf_event_paranoid at 2 or less, those of "
                   "others root or CAP_PERFMON; in a container the seccomp profile must allow "
                   "perf_event_open";
  return error.WithHint(std::string(wanted) + kSeePage);
}

// Events of one's own thread, which the kernel never refuses for whose thread it is.
bool MayOpenOwn(perf_event_attr attr, model::Cpu cpu) {
  return OpenEvent(&attr, {.cpu = cpu, .tid = 0}).has_value();
}

std::vector<model::Tid> ThreadsOf(const Request& request) {
  const Target& target = request.target;
  if (target.kind == Target::Kind::kThreads) return target.threads;
  std::vector<model::Tid> threads;
  for (model::Pid pid : target.processes) {
    for (model::Tid tid : request.list_threads(pid)) threads.push_back(tid);
  }
  return threads;
}

// Where single threads are followed.
perf_event_attr ThreadAttr(perf_event_attr attr, const Target& target) {
  const bool alone = target.kind == Target::Kind::kThreads && !target.follow_children;
  attr.inherit = alone ? 0 : 1;
  attr.inherit_thread = alone || target.follow_children ? 0 : 1;
  attr.enable_on_exec = target.kind == Target::Kind::kCommand ? 1 : 0;
  return attr;
}

}  // namespace

Result<SwitchRights> ProbeSwitchRights(model::Cpu cpu) {
  const auto release = RunningRelease();
  if (release && *release < kernel_compat::KernelRelease{4, 17}) {
    return MakeError(ErrorCode::kUnsupported,
                     fmt::format("Linux {}.{} does not tell in its switch records who was still "
                                 "runnable",
                                 release->version, release->patchlevel),
                     "Linux 4.17 and later do");
  }
  const ChainOptions chains;
  perf_event_attr attr = ContextSwitchAttr(&chains);
  SwitchRights rights;
  auto fd = OpenEvent(&attr, {.cpu = cpu});
  rights.all_threads = fd.has_value();
  if (fd) return rights;
  if (fd.error().code != ErrorCode::kPermission) return fd.error();
  if (MayOpenOwn(attr, cpu)) return rights;
  rights.kernel_stacks = false;
  // Exactly what will be opened then: 6.12 refuses a kernel call chain even where nothing of the
  // kernel is counted (seen on 6.12.117; 6.1.192 and 6.18.44 allow it).
  attr = ContextSwitchAttr(nullptr);
  attr.exclude_kernel = 1;
  if (MayOpenOwn(attr, cpu)) return rights;
  return WithSwitchHint(fd.error(), /*everything=*/false);
}

Result<std::unique_ptr<Source>> SwitchSource::Open(const Request& request) {
  auto cpus = OnlineCpus();
  if (!cpus) return cpus.error();
  ChainOptions chains = request.chains;
  const auto max_stack = ChooseMaxStack(chains.max_stack);
  if (!max_stack) return max_stack.error();
  chains.max_stack = *max_stack;
  auto rights = ProbeSwitchRights(cpus->empty() ? 0 : cpus->front());
  if (!rights) return rights.error();

  std::unique_ptr<SwitchSource> source(new SwitchSource);
  source->rights_ = *rights;
  source->attr_ = ContextSwitchAttr(rights->kernel_stacks ? &chains : nullptr);
  source->attr_.exclude_kernel = rights->kernel_stacks ? 0 : 1;
  source->decoder_ = std::make_unique<SwitchDecoder>(
      SwitchDecodeOptions{rights->all_threads, *max_stack, request.chain_reasons});
  source->lanes_ = std::make_unique<LaneSet>(*source->decoder_);
  if (auto opened = source->OpenRings(*cpus, request); !opened) return opened.error();
  auto opened = rights->all_threads ? source->OpenCpus() : source->OpenThreads(request);
  if (!opened) return opened.error();
  source->Warn(request);
  return std::unique_ptr<Source>(std::move(source));
}

// A ring belongs to an event of our own thread, which lives as long as the recording: poll(2) has
// nothing to wait for on one whose thread has ended.
Result<void> SwitchSource::OpenRings(const std::vector<model::Cpu>& cpus, const Request& request) {
  if (auto enough = EnsureDescriptors(2 * cpus.size()); !enough) return enough;
  const auto open_owner = [](model::Cpu cpu, uint32_t wakeup_bytes, int* error_number) {
    perf_event_attr attr = RingOwnerAttr(wakeup_bytes);
    attr.exclude_kernel = 1;
    return OpenLaneEvent(attr, EventKind::kSideband, {.cpu = cpu, .tid = 0}, error_number);
  };
  return lanes_->Open(cpus, request.buffer_bytes, open_owner);
}

Result<void> SwitchSource::OpenCpus() {
  for (const auto& lane : lanes_->lanes()) {
    auto event = OpenLaneEvent(attr_, EventKind::kContextSwitches, {.cpu = lane->cpu()});
    if (!event) return event.error();
    if (auto joined = LaneSet::Join(*lane, std::move(*event)); !joined) return joined;
  }
  return {};
}

Result<void> SwitchSource::OpenThreads(const Request& request) {
  if (request.target.kind == Target::Kind::kEverything) {
    perf_event_attr attr = attr_;
    const auto refused = OpenEvent(&attr, {.cpu = lanes_->lanes().front()->cpu()});
    return refused ? Result<void>() : WithSwitchHint(refused.error(), /*everything=*/true);
  }
  attr_ = ThreadAttr(attr_, request.target);
  // A thread that is born meanwhile inherits the events its parent had by then, or is in the next
  // list; then it has some twice, which the decoder notices.
  for (;;) {
    std::vector<model::Tid> fresh;
    for (model::Tid tid : ThreadsOf(request)) {
      if (threads_.insert(tid).second) fresh.push_back(tid);
    }
    if (fresh.empty()) return {};
    const size_t cpus = lanes_->lanes().size();
    if (auto enough = EnsureDescriptors(fresh.size() * cpus); !enough) {
      Error error = enough.error();
      error.message = fmt::format("{} threads on {} CPUs, an event each: {}", fresh.size(), cpus,
                                  error.message);
      return error;
    }
    for (model::Tid tid : fresh) {
      if (auto opened = OpenThread(tid); !opened) return opened;
    }
  }
}

Result<void> SwitchSource::OpenThread(model::Tid tid) {
  for (const auto& lane : lanes_->lanes()) {
    const Scope scope{lane->cpu(), tid};
    int error_number = 0;
    auto event = OpenLaneEvent(attr_, EventKind::kContextSwitches, scope, &error_number);
    if (!event && error_number == EINVAL && attr_.inherit_thread != 0) {
      attr_.inherit_thread =
          0;  // Linux 5.13; before, events of child processes come and are unused
      event = OpenLaneEvent(attr_, EventKind::kContextSwitches, scope, &error_number);
    }
    if (!event && error_number == ESRCH) return {};  // it has ended
    if (!event) return WithSwitchHint(event.error(), /*everything=*/false);
    if (auto joined = LaneSet::Join(*lane, std::move(*event)); !joined) return joined;
  }
  return {};
}

void SwitchSource::Warn(const Request& request) {
  if (auto warning = lanes_->BudgetWarning()) warnings_.push_back(std::move(*warning));
  warnings_.push_back(
      "the switch back end knows no task states: who left without waiting counts as runnable, "
      "preempted or not");
  if (request.chains.any() && !rights_.kernel_stacks) {
    warnings_.push_back(
        fmt::format("no stacks: kernel.perf_event_paranoid is {} (1 or less, root or CAP_PERFMON "
                    "would give them)",
                    ParanoidLevel()));
  }
  if (request.wakeups) {
    warnings_.push_back("no wake-ups are recorded: blocked time is not split");
  }
  if (request.cgroup_moves) {
    warnings_.push_back("a process that moves into the cgroup is noticed within a second");
  }
}

Result<void> SwitchSource::StartSideband() {
  // A command's events begin with its exec.
  return attr_.enable_on_exec != 0 ? Result<void>() : lanes_->Enable(EventKind::kContextSwitches);
}

std::vector<Note> SwitchSource::notes() const {
  const DecodeCounters decode = decoder_->counters();
  std::vector<Note> notes = {{"events", decode.events},
                             {"malformed_records", decode.malformed},
                             {"repeated_records", decoder_->repeated()},
                             {"threads_opened", threads_.size()}};
  lanes_->AddNotes(&notes);
  return notes;
}

}  // namespace offcpu::source::perf
