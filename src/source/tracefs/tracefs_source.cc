// SPDX-License-Identifier: MIT
#include "source/tracefs/tracefs_source.h"

#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/files.h"
#include "source/host.h"
#include "source/limits.h"

namespace offcpu::source::tracefs {
namespace {

constexpr size_t kMinBufferBytes = 8192;
constexpr char kSwitchTrigger[] = "events/sched/sched_switch/trigger";
constexpr char kUserStackOption[] = "options/userstacktrace";

// A dynamic loader has mapped its libraries by then.
constexpr Nanos kLoadingTime = kNanosPerSecond;

std::string EnableFile(std::string_view event) { return fmt::format("events/{}/enable", event); }

constexpr std::string_view kProcessEvents[] = {"task/task_newtask", "task/task_rename",
                                               "sched/sched_process_exec",
                                               "sched/sched_process_exit"};

}  // namespace

Result<std::unique_ptr<Source>> TracefsSource::Open(const Request& request) {
  if (InOwnPidNamespace()) {
    return MakeError(ErrorCode::kUnsupported,
                     "trace events name threads by the ids of the initial pid namespace, and this "
                     "process runs in another one",
                     "run offcpu outside the container, or use the back end perf");
  }
  std::unique_ptr<TracefsSource> source(new TracefsSource);
  if (auto formats = source->ReadFormats(request); !formats) return formats.error();
  for (const std::string& name : RemoveLeftovers()) {
    source->warnings_.push_back(
        fmt::format("the tracefs instance {} of an ended recorder is in use and stays", name));
  }
  auto instance = Instance::Create();
  if (!instance) return instance.error();
  source->instance_.emplace(std::move(*instance));
  if (auto set_up = source->SetUp(request); !set_up) return set_up.error();
  return std::unique_ptr<Source>(std::move(source));
}

Result<void> TracefsSource::ReadFormats(const Request& request) {
  auto files = TracefsFiles::Find();
  if (!files) return files.error();
  files_.emplace(std::move(*files));
  // Reads a format, parses it, and keeps the result; an error of either is returned.
  const auto read = [this](const char* system, const char* event, auto parse,
                           auto* format) -> Result<void> {
    auto text = files_->ReadFormat(system, event);
    if (!text) return text.error();
    auto parsed = parse(*text);
    if (!parsed) return parsed.error();
    *format = std::move(*parsed);
    return {};
  };
  const auto switches = [](const std::string& text) {
    return kernel_compat::ParseSwitchFormat(text, RunningRelease());
  };
  const auto head = [](const std::string& text) {
    return kernel_compat::ParseRecordHead(text, "sched_switch");
  };
  const auto wakeup = [](const std::string& text) {
    return kernel_compat::ParseWakeupFormat(text, "sched_wakeup");
  };
  namespace kc = kernel_compat;
  Formats& formats = formats_;
  auto done = read("sched", "sched_switch", switches, &formats.switches);
  if (done) done = read("sched", "sched_switch", head, &formats.head);
  if (done) done = read("task", "task_newtask", kc::ParseNewTaskFormat, &formats.new_task);
  if (done) done = read("task", "task_rename", kc::ParseRenameFormat, &formats.rename);
  if (done) done = read("sched", "sched_process_exec", kc::ParseExecFormat, &formats.exec);
  if (done) done = read("sched", "sched_process_exit", kc::ParseExitFormat, &formats.exit);
  if (done && request.wakeups) done = read("sched", "sched_wakeup", wakeup, &formats.wakeup);
  if (done && request.cgroup_moves) {
    done = read("cgroup", "cgroup_attach_task", kc::ParseCgroupAttachFormat, &formats.cgroup);
  }
  if (done && request.chains.kernel) {
    done = read("ftrace", "kernel_stack", kc::ParseKernelStackFormat, &formats.kernel_stack);
  }
  if (done && request.chains.user) {
    done = read("ftrace", "user_stack", kc::ParseUserStackFormat, &formats.user_stack);
  }
  if (done && !formats.switches.states.has_preempt_mark()) {
    warnings_.push_back("this kernel does not mark preemption: preempted shows as runnable");
  }
  return done;
}

Result<void> TracefsSource::SetUp(const Request& request) {
  const auto max_stack = ChooseMaxStack(request.chains.max_stack);
  if (!max_stack) return max_stack.error();
  if (auto clock = SetClock(); !clock) return clock;
  if (auto options = SetOptions(); !options) return options;
  if (auto buffers = SetBuffers(request.buffer_bytes); !buffers) return buffers;
  PrepareStacks(request);

  auto text = instance_->Read("events/header_page");
  if (!text) return text.error();
  auto layout = kernel_compat::ParsePageLayout(*text);
  if (!layout) return layout.error();
  layout_ = *layout;
  if (user_stacks_) read_maps_ = request.read_maps;
  DecodeOptions decode{formats_, request.chain_reasons, *max_stack, read_maps_};
  decoder_ = std::make_unique<Decoder>(std::move(decode), threads_);
  state_.decoder = decoder_.get();
  return OpenPipes();
}

// The default clock is each CPU's own: its times can't be compared (D8).
Result<void> TracefsSource::SetClock() {
  auto written = instance_->Write("trace_clock", "mono");
  auto clocks = instance_->Read("trace_clock");
  if (!clocks) return clocks.error();
  if (written && clocks->find("[mono]") != std::string::npos) return {};
  return MakeError(ErrorCode::kUnsupported,
                   "this kernel's tracing has no clock 'mono', or keeps another",
                   "it came with Linux 3.17");
}

// A new instance inherits the host's options: all that would change what is written are set.
Result<void> TracefsSource::SetOptions() {
  struct Setting {
    const char* option;
    const char* value;
  };
  // Overwriting loses the oldest events and says so at the place; the opposite is only counted.
  constexpr Setting kSettings[] = {{"overwrite", "1"},      {"stacktrace", "0"},
                                   {"userstacktrace", "0"}, {"event-fork", "0"},
                                   {"function-fork", "0"},  {"pause-on-trace", "0"}};
  for (const Setting& each : kSettings) {
    const std::string file = std::string("options/") + each.option;
    if (!instance_->Has(file)) continue;
    if (auto set = instance_->Write(file, each.value); !set) return set;
  }
  // Without it, poll(2) would wake the reader for every event; then it just looks often enough.
  if (instance_->Has("buffer_percent")) {
    if (auto set = instance_->Write("buffer_percent", "25"); !set) return set;
    has_watermark_ = true;
  }
  return {};
}

Result<void> TracefsSource::SetBuffers(size_t wanted_bytes) {
  const size_t wanted = std::max(wanted_bytes, kMinBufferBytes);
  for (buffer_bytes_ = wanted;; buffer_bytes_ /= 2) {
    auto set = instance_->Write("buffer_size_kb", std::to_string(buffer_bytes_ / 1024));
    if (set) break;
    if (buffer_bytes_ / 2 < kMinBufferBytes) {
      return set.error().WithHint("ask for less memory with --buffer-size");
    }
  }
  if (buffer_bytes_ < wanted) {
    warnings_.push_back(fmt::format("rings of {} KiB a CPU instead of {} KiB: memory is short",
                                    buffer_bytes_ / 1024, wanted / 1024));
  }
  return {};
}

void TracefsSource::PrepareStacks(const Request& request) {
  if (!request.chains.any()) return;
  const auto filters =
      kernel_compat::MakeSwitchFilters(formats_.switches.states, request.chain_reasons);
  if (filters.stack.empty()) return;
  if (request.chains.kernel && instance_->Has(kSwitchTrigger)) {
    stack_trigger_ = "stacktrace if " + filters.stack;
  } else if (request.chains.kernel) {
    warnings_.push_back("no kernel stacks: this kernel's events have no triggers");
  }
  if (!request.chains.user) return;
  user_stacks_ = instance_->Has(kUserStackOption);
  warnings_.push_back(user_stacks_ ? "user stacks have at most 8 frames with this back end"
                                   : "no user stacks: this kernel's tracing can't take them");
}

Result<void> TracefsSource::OpenPipes() {
  auto cpus = OnlineCpus();
  if (!cpus) return cpus.error();
  if (auto enough = EnsureDescriptors(cpus->size() + 8); !enough) return enough.error();
  std::vector<Lane*> lanes;
  for (model::Cpu cpu : *cpus) {
    auto pipe = CpuPipe::Open(instance_->PathOf(fmt::format("per_cpu/cpu{}", cpu)));
    if (!pipe) return pipe.error();
    pipes_.push_back(std::make_unique<CpuPipe>(std::move(*pipe)));
    lanes_.push_back(std::make_unique<Lane>(cpu, *pipes_.back(), layout_,
                                            buffer_bytes_ / layout_.page_size(), state_));
    lanes.push_back(lanes_.back().get());
  }
  if (lanes.empty()) {
    return MakeError(ErrorCode::kUnsupported, "no CPU is online according to sysfs");
  }
  merge_ = std::make_unique<Merge<Lane>>(std::move(lanes));
  return {};
}

Result<void> TracefsSource::StartSideband() {
  for (std::string_view event : kProcessEvents) {
    if (auto enabled = instance_->Write(EnableFile(event), "1"); !enabled) return enabled;
  }
  threads_.ReadProc();
  return {};
}

Result<Nanos> TracefsSource::Start() {
  if (user_stacks_) {
    if (auto set = instance_->Write(kUserStackOption, "1"); !set) return set.error();
  }
  for (const auto& [id, event] : {std::pair{formats_.cgroup.id, "cgroup/cgroup_attach_task"},
                                  std::pair{formats_.wakeup.id, "sched/sched_wakeup"},
                                  std::pair{formats_.switches.id, "sched/sched_switch"}}) {
    if (id == 0) continue;
    if (auto enabled = instance_->Write(EnableFile(event), "1"); !enabled) return enabled.error();
  }
  // Behind the event itself: a trigger fires for an event that is not enabled, too (KF 11).
  if (!stack_trigger_.empty()) {
    if (auto set = instance_->Write(kSwitchTrigger, stack_trigger_); !set) return set.error();
  }
  return MonotonicNow();
}

void TracefsSource::Round(Nanos horizon, model::EventSink& sink) {
  state_.sink = &sink;
  merge_->Run(horizon);
  uint64_t losses = 0;
  for (const auto& lane : lanes_) losses += lane->counters().lost_events;
  // A birth may be among what was lost.
  if (losses != losses_seen_) threads_.ReadProc();
  losses_seen_ = losses;
}

void TracefsSource::Drain(model::EventSink& sink) {
  // Any event older than the clock before the first read of the previous round is here now (KF 5).
  const Nanos now = MonotonicNow();
  for (const auto& lane : lanes_) lane->ReadPages(now);
  Round(last_round_, sink);
  last_round_ = now;
  RereadMaps(sink);
}

void TracefsSource::RereadMaps(model::EventSink& sink) {
  if (!read_maps_) return;
  for (const Decoder::Execed& exec : decoder_->TakeExecs()) fresh_execs_.push_back(exec);
  for (const Decoder::Execed& exec : fresh_execs_) read_maps_(exec.pid, state_.released, sink);
  std::erase_if(fresh_execs_, [this](const Decoder::Execed& exec) {
    return exec.time + kLoadingTime < last_round_;
  });
}

Nanos TracefsSource::Stop(model::EventSink& sink) {
  const Nanos end = MonotonicNow();
  if (auto off = instance_->Write("tracing_on", "0"); !off) {
    warnings_.push_back("tracing could not be switched off: " + off.error().message);
  }
  // Twice: an event that was begun before the end may be visible only now.
  for (int i = 0; i < 2; ++i) {
    for (const auto& lane : lanes_) lane->ReadPages(end);
  }
  Round(end, sink);
  for (const auto& lane : lanes_) lane->FinishLosses(end);
  SayWhatIsMissing();
  merge_.reset();
  for (const auto& lane : lanes_) lane->DetachPipe();
  pipes_.clear();
  if (auto removed = instance_->Remove(); !removed) warnings_.push_back(removed.error().message);
  return end;
}

void TracefsSource::SayWhatIsMissing() {
  for (const auto& lane : lanes_) {
    if (!lane->failure().empty()) warnings_.push_back("events are missing: " + lane->failure());
    if (lane->hidden_idle() == 0) continue;
    warnings_.push_back(fmt::format(
        "the idle task of CPU {} is hidden from tracing: {} waits that ended there have "
        "no known length",
        lane->cpu(), lane->hidden_idle()));
  }
  if (!decoder_->misread_event().empty()) {
    warnings_.push_back(
        fmt::format("records of {} hold thread ids that cannot exist and were refused: its format "
                    "file does not describe them",
                    decoder_->misread_event()));
  }
}

std::vector<int> TracefsSource::poll_fds() const {
  std::vector<int> fds;
  if (!has_watermark_) return fds;
  for (const auto& pipe : pipes_) fds.push_back(pipe->fd());
  return fds;
}

std::vector<Note> TracefsSource::notes() const {
  LaneCounters lanes;
  uint64_t hidden_idle_cpus = 0;
  for (const auto& lane : lanes_) {
    lanes.late_events += lane->counters().late_events;
    lanes.damaged_pages += lane->counters().damaged_pages;
    lanes.pages += lane->counters().pages;
    hidden_idle_cpus += lane->hidden_idle() > 0 ? 1 : 0;
  }
  const DecodeCounters& decode = decoder_->counters();
  return {{"events", decode.events},          {"malformed_records", decode.malformed},
          {"late_events", lanes.late_events}, {"damaged_pages", lanes.damaged_pages},
          {"pages_read", lanes.pages},        {"buffer_bytes_per_cpu", buffer_bytes_}};
}

}  // namespace offcpu::source::tracefs
