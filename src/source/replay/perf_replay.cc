// SPDX-License-Identifier: MIT
#include "source/replay/perf_replay.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <cstring>
#include <ctime>

#include "source/replay/file_bytes.h"

namespace offcpu::source::replay {
namespace {

constexpr size_t kReadBeforePlan = 8U << 20;  // bytes held
constexpr size_t kReleaseAt = 4U << 20;
constexpr size_t kMostHeld = 64U << 20;

// Tags of what waits for its turn: a loss, or the number of an event, perhaps with a bit that says
// that the record has no time.
constexpr uint16_t kLossTag = EventTable::kNone;
constexpr uint16_t kMadeUp = 0x8000;
static_assert(EventTable::kMost < kMadeUp);

std::string Used(std::string_view command) { return "record with: " + std::string(command); }

}  // namespace

Result<Nanos> PerfReplay::Start() {
  while (sorter_.held() < kReadBeforePlan && ReadOne()) {
  }
  if (error_) return *error_;
  auto plan = MakePlan(*reader_);
  if (!plan) return plan.error();
  plan_ = *plan;
  decoder_.emplace(*reader_, plan_);
  begin_ = reader_->seen().first;
  released_ = begin_;
  return begin_;
}

bool PerfReplay::ReadOne() {
  PerfItem item;
  const auto read = reader_->Next(&item);
  if (!read) error_ = read.error();
  if (!read || !*read) {
    at_end_ = true;
    return false;
  }
  if (item.round_end) {
    sorter_.EndRound();
  } else {
    Take(item);
  }
  return true;
}

// ---- reading ------------------------------------------------------------------------------------

bool PerfReplay::IsUsed(const PerfItem& item) const {
  switch (item.record.type) {
    case PERF_RECORD_SAMPLE: {
      const Role role = reader_->events().events()[item.event].role;
      return role != Role::kOther && role != Role::kBareSwitch;
    }
    case PERF_RECORD_SWITCH:
    case PERF_RECORD_SWITCH_CPU_WIDE:
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
    case PERF_RECORD_COMM:
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2: return true;
    default: return false;
  }
}

void PerfReplay::Take(const PerfItem& item) {
  const uint32_t type = item.record.type;
  if (type == PERF_RECORD_LOST || type == PERF_RECORD_LOST_SAMPLES) {
    TakeLost(item);
  } else if (IsUsed(item)) {
    const bool needs_time = type == PERF_RECORD_SAMPLE || type == PERF_RECORD_SWITCH ||
                            type == PERF_RECORD_SWITCH_CPU_WIDE;
    if (item.time == 0 && needs_time) {
      ++without_time_;
    } else if (item.time != 0 && item.time < released_) {
      TakeLate(item);
    } else {
      // What perf made up of /proc has no time, only a place among the others.
      const auto tag = static_cast<uint16_t>(item.event | (item.time == 0 ? kMadeUp : 0));
      sorter_.Add(std::max(item.time, released_), tag, item.record.bytes);
    }
  }
  if (item.cpu < 0 || item.time == 0) return;
  const auto cpu = static_cast<size_t>(item.cpu);
  if (last_times_.size() <= cpu) last_times_.resize(cpu + 1);
  last_times_[cpu] = std::max(last_times_[cpu], item.time);
}

// Older than what was delivered: a switch is as good as lost (KF 5), the others come a bit late.
void PerfReplay::TakeLate(const PerfItem& item) {
  ++late_;
  const bool is_switch = item.record.type == PERF_RECORD_SAMPLE ||
                         item.record.type == PERF_RECORD_SWITCH ||
                         item.record.type == PERF_RECORD_SWITCH_CPU_WIDE;
  if (!is_switch) {
    sorter_.Add(released_, item.event, item.record.bytes);
    return;
  }
  const bool wakeup = item.record.type == PERF_RECORD_SAMPLE &&
                      reader_->events().events()[item.event].role != Role::kSwitch;
  if (!wakeup) AddLoss({std::max(item.cpu, 0), item.time, released_, 1});
}

// Something was lost between the CPU's record before this one and this one.
void PerfReplay::TakeLost(const PerfItem& item) {
  FileBytes body(item.record.body(), reader_->swap());
  if (item.record.type == PERF_RECORD_LOST) body.Skip(8);  // id of the event that came after
  const auto count = body.Read<uint64_t>();
  if (!body.ok() || count == 0) return;
  if (item.time == 0) {  // counted by perf at the end
    untimed_losses_ += count;
    return;
  }
  timed_losses_ += count;
  const auto cpu = static_cast<size_t>(std::max(item.cpu, 0));
  const bool known = item.cpu >= 0 && cpu < last_times_.size() && last_times_[cpu] != 0;
  const Nanos from = known ? last_times_[cpu] : std::max(begin_, Nanos{1});
  AddLoss({std::max(item.cpu, 0), std::min(from, item.time), item.time, count});
}

void PerfReplay::AddLoss(model::Loss loss) {
  sorter_.Add(std::max(loss.from, released_), kLossTag,
              std::as_bytes(std::span<const model::Loss>(&loss, 1)));
}

// ---- delivering ---------------------------------------------------------------------------------

void PerfReplay::Release(Nanos horizon, model::EventSink& sink) {
  sorter_.Release(horizon, [&](Nanos time, uint16_t tag, std::span<const std::byte> bytes) {
    if (tag != kLossTag) {
      const bool made_up = (tag & kMadeUp) != 0;
      decoder_->Decode(made_up ? 0 : time, tag & ~kMadeUp, bytes, sink);
      return;
    }
    model::Loss loss;
    std::memcpy(&loss, bytes.data(), sizeof(loss));
    decoder_->DeliverLoss(loss, sink);
  });
  released_ = std::max(released_, horizon);
}

void PerfReplay::ReleaseReady(model::EventSink& sink) {
  if (sorter_.held() < kReleaseAt) return;
  if (sorter_.horizon() > tried_) {
    tried_ = sorter_.horizon();
    Release(tried_, sink);
  } else if (sorter_.held() >= kMostHeld) {
    Release(sorter_.Median(), sink);
  }
}

void PerfReplay::Drain(model::EventSink& sink) {
  constexpr int kRecords = 10'000;
  for (int i = 0; i < kRecords && ReadOne(); ++i) ReleaseReady(sink);
}

Nanos PerfReplay::Stop(model::EventSink& sink) {
  while (ReadOne()) ReleaseReady(sink);
  Release(~Nanos{0}, sink);
  DeliverUntimedLoss(sink);
  AddWarnings();
  return std::max(reader_->seen().last, begin_);
}

// perf counts at the end what each event lost; what was not told of before may be anywhere.
void PerfReplay::DeliverUntimedLoss(model::EventSink& sink) {
  if (untimed_losses_ <= timed_losses_) return;
  const Nanos end = std::max(reader_->seen().last, begin_);
  decoder_->DeliverLoss({0, begin_, end, untimed_losses_ - timed_losses_}, sink);
}

// ---- what is told of it -------------------------------------------------------------------------

size_t PerfReplay::cpu_count() const {
  if (const uint32_t online = reader_->features().cpus_online; online != 0) return online;
  const auto& cpus = reader_->seen().cpus;
  return static_cast<size_t>(
      std::count_if(cpus.begin(), cpus.end(), [](const auto& cpu) { return cpu.records > 0; }));
}

std::vector<Note> PerfReplay::notes() const {
  const PerfSeen& seen = reader_->seen();
  return {{"late_events", late_},
          {"malformed_records", seen.malformed + (decoder_ ? decoder_->malformed() : 0)},
          {"records_without_time", without_time_},
          {"samples_of_unknown_events", seen.foreign_samples}};
}

RecordingFacts PerfReplay::facts() const {
  const PerfFeatures& features = reader_->features();
  RecordingFacts facts;
  facts.recorder = "recording by perf";
  facts.host = features.host;
  facts.kernel_release = features.release;
  facts.machine = features.machine;
  facts.command = features.command;
  const auto id = features.build_ids.find(std::string(kKernelFile));
  if (id != features.build_ids.end()) facts.kernel_build_id = id->second;
  facts.kernel_reference = reader_->kernel_reference();
  facts.wakeups = plan_.wakeup != Role::kOther;
  return facts;
}

uint64_t PerfReplay::RealTimeOf(Nanos time) const {
  const auto& pair = reader_->features().clock_pair;
  return pair ? pair->real + (time - pair->event) : 0;
}

std::vector<std::string> PerfReplay::Damages() const {
  std::vector<std::string> damages;
  for (const std::string& damage : reader_->Damages()) {
    damages.push_back("the recording is not whole: " + damage);
  }
  if (error_) damages.push_back("the recording was not read to its end: " + error_->message);
  return damages;
}

void PerfReplay::AddWarnings() {
  warnings_ = Damages();
  if (untimed_losses_ > timed_losses_) {
    warnings_.emplace_back(
        "perf counted lost samples and not when they were lost: intervals may span them");
  }
  bool monotonic = true;
  for (const EventTable::Event& event : reader_->events().events()) {
    if (event.role == Role::kOther) continue;
    monotonic = monotonic && event.described.attr.clock == CLOCK_MONOTONIC;
  }
  if (!monotonic) {
    warnings_.emplace_back(
        "times are those of perf's own clock, not of CLOCK_MONOTONIC (perf record -k mono)");
  }
  if (plan_.wakeup == Role::kWaking) {
    warnings_.emplace_back(
        "wake-ups are those of sched_waking, which comes a few microseconds before sched_wakeup");
  }
}

// ---- the plan -----------------------------------------------------------------------------------

namespace {

// Per-task recordings show in perf's lists of tasks; where it keeps none, a CPU's events tell:
// idle tasks are nobody's target, and each that leaves is the one that came last.
bool FollowsTasks(const PerfReader& reader) {
  const PerfSeen& seen = reader.seen();
  for (const EventTable::Event& event : reader.events().events()) {
    if (event.described.attr.enable_on_exec) return true;
  }
  if (seen.follows_tasks) return true;
  if (seen.cpu_wide_records > 0) return false;
  if (seen.switch_outs > 0) return seen.idle_outs == 0 && seen.chained * 2 < seen.switch_outs;
  return !seen.follows_cpus;
}

bool HasSwitchRecords(const PerfReader& reader) {
  if (reader.seen().switch_in_records > 0) return true;
  const auto& events = reader.events().events();
  return std::any_of(events.begin(), events.end(), [](const EventTable::Event& event) {
    return event.described.attr.context_switch;
  });
}

std::string EventNames(const PerfReader& reader) {
  std::string names;
  size_t nameless = 0;
  for (const EventTable::Event& event : reader.events().events()) {
    if (event.described.name.empty()) {
      ++nameless;
    } else if (names.size() < 200) {
      names += (names.empty() ? "" : ", ") + event.described.name;
    }
  }
  if (names.empty()) return std::to_string(nameless) + " events without names";
  return names;
}

// The software event context-switches comes when a thread leaves the CPU. Of whole CPUs the next
// one names who ran meanwhile, so that times could be found; but nothing in it tells a thread that
// waits from one that only gave way, and no interval is made without a reason.
Error RefuseContextSwitches(bool per_task) {
  const std::string missing =
      per_task ? "not when they came back" : "not whether they could run on";
  return Failed(
      "the recording's context-switches events tell when threads left the CPU, " + missing,
      "record with: perf record -a -g --switch-events -c 1 -e context-switches");
}

}  // namespace

Result<Plan> MakePlan(const PerfReader& reader) {
  const EventTable& events = reader.events();
  if (auto ids = events.CheckIds(); !ids) return ids.error();
  Plan plan;
  plan.wakeup = events.Has(Role::kWakeup)   ? Role::kWakeup
                : events.Has(Role::kWaking) ? Role::kWaking
                                            : Role::kOther;
  plan.tracepoint = events.Has(Role::kSwitch);
  plan.per_task = FollowsTasks(reader);
  const bool switch_records = HasSwitchRecords(reader);
  if (!plan.tracepoint && !switch_records) {
    if (events.Has(Role::kBareSwitch)) {
      return Failed(
          "the recording's sched_switch events have no fields, so who came and in which state the "
          "other left is not known",
          Used(kRecordAll));
    }
    if (events.Has(Role::kContextSwitch)) return RefuseContextSwitches(plan.per_task);
    return Failed("the recording has no context switches, only " + EventNames(reader),
                  Used(kRecordAll));
  }
  if (plan.tracepoint && plan.per_task && !switch_records) {
    return Failed(
        "the recording follows tasks, and of those its sched_switch events tell when they left the "
        "CPU, not when they came back",
        Used(kRecordAll) + ", or for a process: " + std::string(kRecordTask));
  }
  return plan;
}

}  // namespace offcpu::source::replay
