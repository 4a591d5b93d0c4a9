// SPDX-License-Identifier: MIT
#include "source/tracefs/decode.h"

#include <algorithm>
#include <utility>

namespace offcpu::source::tracefs {
namespace {

constexpr size_t kUsualFrames = 1024;

// FTRACE_STACK_ENTRIES: a user stack of so many was cut.
constexpr size_t kMaxUserFrames = 8;

constexpr uint32_t kGone = model::kTaskDead | model::kTaskZombie;

}  // namespace

Decoder::Decoder(DecodeOptions options, ThreadTable& threads)
    : options_(std::move(options)), threads_(threads) {
  kernel_.reserve(kUsualFrames);
  user_.reserve(kMaxUserFrames);
}

uint16_t Decoder::TypeOf(std::span<const std::byte> raw) const {
  return static_cast<uint16_t>(kernel_compat::ReadField(raw, options_.formats.head.type));
}

model::Tid Decoder::WriterOf(std::span<const std::byte> raw) const {
  return static_cast<model::Tid>(kernel_compat::ReadField(raw, options_.formats.head.pid));
}

Decoder::Kind Decoder::KindOf(std::span<const std::byte> raw) const {
  const uint16_t type = TypeOf(raw);
  const Formats& formats = options_.formats;
  if (type != 0 && type == formats.switches.id) return Kind::kSwitch;
  const bool stack =
      type != 0 && (type == formats.kernel_stack.id || type == formats.user_stack.id);
  return stack ? Kind::kStack : Kind::kOther;
}

bool Decoder::IsProcessEvent(std::span<const std::byte> raw) const {
  const uint16_t type = TypeOf(raw);
  const Formats& formats = options_.formats;
  return type != 0 && (type == formats.new_task.id || type == formats.exec.id ||
                       type == formats.exit.id || type == formats.rename.id);
}

bool Decoder::Plausible(std::initializer_list<model::Tid> tids, std::string_view event) {
  const bool plausible = std::all_of(tids.begin(), tids.end(), model::IsPossibleTid);
  if (!plausible && misread_event_.empty()) misread_event_ = event;
  return plausible;
}

bool Decoder::WantsChain(const model::Switch& event) const {
  if (event.prev_tid == 0) return false;
  switch (model::ReasonOf(event.prev_state, event.preempted)) {
    case model::Reason::kBlocked: return options_.chain_reasons.blocked;
    case model::Reason::kRunnable: return options_.chain_reasons.runnable;
    case model::Reason::kPreempted: return options_.chain_reasons.preempted;
    case model::Reason::kUnspecified: break;
  }
  return false;
}

bool Decoder::BeginSwitch(std::span<const std::byte> raw, Nanos time, model::Cpu cpu) {
  switch_ = model::Switch{};
  kernel_.clear();
  user_.clear();
  if (!kernel_compat::ReadSwitch(raw, options_.formats.switches, &switch_) ||
      !Plausible({switch_.prev_tid, switch_.next_tid}, "sched_switch")) {
    ++counters_.malformed;
    return false;
  }
  ++counters_.events;
  switch_.time = time;
  switch_.cpu = cpu;
  writer_ = WriterOf(raw);
  return true;
}

bool Decoder::AddStack(std::span<const std::byte> raw) {
  if (WriterOf(raw) != writer_) return false;
  const Formats& formats = options_.formats;
  const bool kernel = TypeOf(raw) == formats.kernel_stack.id;
  if (!kernel_compat::ReadStack(raw, kernel ? formats.kernel_stack : formats.user_stack,
                                kernel ? &kernel_ : &user_)) {
    ++counters_.malformed;
    return true;
  }
  if (!kernel && switch_.prev_tid > 0) {
    const auto pid =
        static_cast<model::Pid>(kernel_compat::ReadField(raw, formats.user_stack.tgid));
    if (pid > 0 && model::IsPossibleTid(pid)) switch_.prev_pid = pid;
  }
  return true;
}

const model::Switch& Decoder::DeliverSwitch(model::EventSink& sink) {
  if (switch_.prev_pid <= 0) switch_.prev_pid = threads_.ProcessOf(switch_.prev_tid);
  if (WantsChain(switch_) && !(kernel_.empty() && user_.empty())) {
    // The outer half is the user's; it is cut first.
    const size_t kernel = std::min<size_t>(kernel_.size(), options_.max_stack);
    const size_t user = std::min<size_t>(user_.size(), options_.max_stack - kernel);
    switch_.chain.kernel = std::span<const uint64_t>(kernel_).first(kernel);
    switch_.chain.user = std::span<const uint64_t>(user_).first(user);
    switch_.chain.truncated =
        kernel < kernel_.size() || user < user_.size() || user_.size() >= kMaxUserFrames;
    switch_.chain.present = true;
  }
  sink.OnSwitch(switch_);
  if (!switch_.preempted && (switch_.prev_state & kGone) != 0) {
    threads_.Erase(switch_.prev_tid);
    renamed_.erase(switch_.prev_tid);
  }
  return switch_;
}

void Decoder::Decode(std::span<const std::byte> raw, Nanos time, model::Cpu cpu,
                     model::EventSink& sink) {
  const uint16_t type = TypeOf(raw);
  const Formats& formats = options_.formats;
  bool good = false;
  if (type == 0) {
    good = false;
  } else if (type == formats.wakeup.id) {
    good = DecodeWakeup(raw, time, cpu, sink);
  } else if (type == formats.new_task.id) {
    good = DecodeNewTask(raw, time, sink);
  } else if (type == formats.exec.id) {
    good = DecodeExec(raw, time, cpu, sink);
  } else if (type == formats.exit.id) {
    good = DecodeExit(raw, time, sink);
  } else if (type == formats.rename.id) {
    good = DecodeRename(raw, time, cpu, sink);
  } else if (type == formats.cgroup.id) {
    good = DecodeCgroup(raw, time, sink);
  }
  if (!good) ++counters_.malformed;
}

bool Decoder::DecodeWakeup(std::span<const std::byte> raw, Nanos time, model::Cpu cpu,
                           model::EventSink& sink) {
  model::Tid tid = 0;
  const auto result = kernel_compat::ReadWakeup(raw, options_.formats.wakeup, &tid);
  if (result == kernel_compat::WakeupRecord::kTooShort || !Plausible({tid}, "sched_wakeup")) {
    return false;
  }
  ++counters_.events;
  if (result == kernel_compat::WakeupRecord::kWakeup) sink.OnWakeup({time, cpu, tid});
  return true;
}

bool Decoder::DecodeCgroup(std::span<const std::byte> raw, Nanos time, model::EventSink& sink) {
  const auto move = kernel_compat::ReadCgroupAttach(raw, options_.formats.cgroup);
  if (!move || !Plausible({move->tid}, "cgroup_attach_task")) return false;
  sink.OnCgroupMove({time, move->tid, move->path});
  return true;
}

bool Decoder::DecodeNewTask(std::span<const std::byte> raw, Nanos time, model::EventSink& sink) {
  const auto task = kernel_compat::ReadNewTask(raw, options_.formats.new_task);
  if (!task || !Plausible({task->parent_tid, task->tid}, "task_newtask")) return false;
  model::Fork fork;
  fork.time = time;
  fork.tid = task->tid;
  fork.parent_tid = task->parent_tid;
  fork.parent_pid = threads_.ProcessOf(task->parent_tid);
  fork.pid = task->thread ? fork.parent_pid : task->tid;
  if (fork.pid < 0) return true;  // its birth was lost; the next look at /proc tells
  threads_.Set(fork.tid, fork.pid);
  renamed_.erase(fork.tid);
  sink.OnFork(fork);
  return true;
}

bool Decoder::DecodeExec(std::span<const std::byte> raw, Nanos time, model::Cpu cpu,
                         model::EventSink& sink) {
  const auto exec = kernel_compat::ReadExec(raw, options_.formats.exec);
  if (!exec || !Plausible({exec->tid, exec->caller_tid}, "sched_process_exec")) return false;
  if (exec->caller_tid != exec->tid) threads_.Erase(exec->caller_tid);
  threads_.Set(exec->tid, exec->tid);
  model::CommChange change;
  change.time = time;
  change.cpu = cpu;
  change.pid = exec->tid;
  change.tid = exec->tid;
  change.exec = true;
  // The rename came just before; without it the name is the file's.
  const auto renamed = renamed_.find(exec->tid);
  if (renamed != renamed_.end()) {
    change.comm = renamed->second;
    renamed_.erase(renamed);
  } else {
    change.comm = model::MakeComm(exec->filename.substr(exec->filename.rfind('/') + 1));
  }
  sink.OnCommChange(change);
  execs_.push_back({change.pid, time});
  if (options_.read_maps) options_.read_maps(change.pid, time, sink);
  return true;
}

bool Decoder::DecodeExit(std::span<const std::byte> raw, Nanos time, model::EventSink& sink) {
  const auto tid = kernel_compat::ReadExit(raw, options_.formats.exit);
  if (!tid || !Plausible({*tid}, "sched_process_exit")) return false;
  const model::Pid pid = threads_.ProcessOf(*tid);
  if (pid > 0) sink.OnExit({time, pid, *tid});
  return true;
}

bool Decoder::DecodeRename(std::span<const std::byte> raw, Nanos time, model::Cpu cpu,
                           model::EventSink& sink) {
  const auto rename = kernel_compat::ReadRename(raw, options_.formats.rename);
  if (!rename || !Plausible({rename->tid}, "task_rename")) return false;
  renamed_[rename->tid] = rename->comm;
  const model::Pid pid = threads_.ProcessOf(rename->tid);
  if (pid > 0) sink.OnCommChange({time, cpu, pid, rename->tid, false, rename->comm});
  return true;
}

std::vector<Decoder::Execed> Decoder::TakeExecs() { return std::exchange(execs_, {}); }

}  // namespace offcpu::source::tracefs
