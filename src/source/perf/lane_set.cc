// SPDX-License-Identifier: MIT
#include "source/perf/lane_set.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include <fmt/format.h>

namespace offcpu::source::perf {
namespace {

size_t PageSize() { return static_cast<size_t>(::sysconf(_SC_PAGESIZE)); }

size_t MinBufferBytes() { return std::max<size_t>(8192, PageSize()); }

// Wakes the reader when a quarter is full, which leaves it three quarters of time.
uint32_t WakeupBytes(size_t buffer_bytes) {
  return static_cast<uint32_t>(std::min<size_t>(buffer_bytes / 4, 1U << 20));
}

}  // namespace

Result<LaneEvent> OpenLaneEvent(perf_event_attr attr, EventKind kind, Scope scope,
                                int* error_number) {
  LaneEvent event;
  event.kind = kind;
  auto fd = OpenEvent(&attr, scope, error_number);
  if (!fd) return fd.error();
  event.fd = std::move(*fd);
  event.attr = attr;
  auto id = EventId(event.fd.get());
  if (!id) return id.error();
  event.id = *id;
  return event;
}

// The locked-memory budget is kernel.perf_event_mlock_kb a CPU plus one RLIMIT_MEMLOCK for all, and
// other profilers of the same user draw on it too; so the size is found by trying.
Result<void> LaneSet::Open(const std::vector<model::Cpu>& cpus, size_t wanted_bytes,
                           const OpenOwner& open_owner) {
  wanted_bytes_ = std::bit_ceil(std::max(wanted_bytes, PageSize()));
  for (buffer_bytes_ = wanted_bytes_;; buffer_bytes_ /= 2) {
    lanes_.clear();
    auto opened = TryOpen(cpus, open_owner);
    if (!opened) return opened.error();
    if (*opened == Opened::kAll) break;
  }
  if (lanes_.empty()) {
    return MakeError(ErrorCode::kUnsupported, "no CPU is online according to sysfs");
  }
  std::vector<Lane*> lanes;
  for (const auto& lane : lanes_) lanes.push_back(lane.get());
  merge_ = std::make_unique<Merge<Lane>>(std::move(lanes));
  return {};
}

Result<LaneSet::Opened> LaneSet::TryOpen(const std::vector<model::Cpu>& cpus,
                                         const OpenOwner& open_owner) {
  for (model::Cpu cpu : cpus) {
    int error_number = 0;
    auto owner = open_owner(cpu, WakeupBytes(buffer_bytes_), &error_number);
    if (!owner && error_number == ENODEV) continue;  // went offline since the list was read
    if (!owner) return owner.error();
    auto ring = PerfRing::Map(owner->fd.get(), buffer_bytes_);
    if (!ring && ring.error().code == ErrorCode::kPermission && buffer_bytes_ > MinBufferBytes()) {
      return Opened::kOverBudget;
    }
    if (!ring) {
      return ring.error().WithHint(
          "raise kernel.perf_event_mlock_kb or ulimit -l, or ask for less with --buffer-size");
    }
    LossReader read_lost;
    if ((owner->attr.read_format & PERF_FORMAT_LOST) != 0) {
      read_lost = [](const LaneEvent& event) { return ReadLost(event.fd.get()); };
    }
    std::vector<LaneEvent> events;
    events.push_back(std::move(*owner));
    lanes_.push_back(std::make_unique<Lane>(cpu, std::move(*ring), std::move(events), state_,
                                            std::move(read_lost)));
  }
  return Opened::kAll;
}

Result<void> LaneSet::Join(Lane& lane, LaneEvent event) {
  if (::ioctl(event.fd.get(), PERF_EVENT_IOC_SET_OUTPUT, lane.poll_fd()) != 0) {
    return SystemError("share the perf ring of CPU " + std::to_string(lane.cpu()));
  }
  lane.events().push_back(std::move(event));
  return {};
}

Lane* LaneSet::Find(model::Cpu cpu) {
  for (const auto& lane : lanes_) {
    if (lane->cpu() == cpu) return lane.get();
  }
  return nullptr;
}

std::optional<std::string> LaneSet::BudgetWarning() const {
  if (buffer_bytes_ >= wanted_bytes_) return std::nullopt;
  return fmt::format(
      "rings of {} KiB a CPU instead of {} KiB: the locked-memory budget is used up "
      "(kernel.perf_event_mlock_kb, ulimit -l)",
      buffer_bytes_ / 1024, wanted_bytes_ / 1024);
}

std::vector<int> LaneSet::poll_fds() const {
  std::vector<int> fds;
  for (const auto& lane : lanes_) fds.push_back(lane->poll_fd());
  return fds;
}

void LaneSet::AddNotes(std::vector<Note>* notes) const {
  LaneCounters sum;
  for (const auto& lane : lanes_) {
    sum.lost_other += lane->counters().lost_other;
    sum.late_events += lane->counters().late_events;
    sum.corrupt_bytes += lane->counters().corrupt_bytes;
  }
  notes->push_back({"late_events", sum.late_events});
  notes->push_back({"lost_other_events", sum.lost_other});
  notes->push_back({"corrupt_bytes", sum.corrupt_bytes});
  notes->push_back({"buffer_bytes_per_cpu", buffer_bytes_});
}

Result<void> LaneSet::Enable(EventKind kind) {
  for (const auto& lane : lanes_) {
    for (const LaneEvent& event : lane->events()) {
      if (event.kind != kind) continue;
      if (::ioctl(event.fd.get(), PERF_EVENT_IOC_ENABLE, 0) != 0) {
        return SystemError("enable perf events on CPU " + std::to_string(lane->cpu()));
      }
    }
  }
  return {};
}

void LaneSet::Round(Nanos horizon, model::EventSink& sink) {
  state_.sink = &sink;
  for (const auto& lane : lanes_) lane->TakeHead();
  merge_->Run(horizon);
  for (const auto& lane : lanes_) lane->Release();
}

void LaneSet::Drain(model::EventSink& sink) {
  // Any event older than the clock before the first head of the previous round is visible now (KF
  // 5).
  const Nanos now = MonotonicNow();
  Round(last_round_, sink);
  last_round_ = now;
}

Nanos LaneSet::Stop(model::EventSink& sink) {
  const Nanos end = MonotonicNow();
  for (const auto& lane : lanes_) {
    for (const LaneEvent& event : lane->events()) {
      ::ioctl(event.fd.get(), PERF_EVENT_IOC_DISABLE, 0);
    }
  }
  // A disabled event writes no more, so everything up to `end` is in the rings.
  Round(end, sink);
  for (const auto& lane : lanes_) lane->FinishLosses(end);
  return end;
}

}  // namespace offcpu::source::perf
