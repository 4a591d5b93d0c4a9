// SPDX-License-Identifier: MIT
#include "source/perf/idle_probe.h"

#include <sched.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include "model/sinks.h"
#include "source/perf/attr.h"
#include "source/perf/decode.h"
#include "source/perf/ring.h"

namespace offcpu::source::perf {
namespace {

constexpr int kSleeps = 4;
constexpr Nanos kSleepTime = 500'000;
constexpr Nanos kReadingPause = 100'000;
constexpr size_t kRingBytes = 32768;

void Sleep(Nanos time) {
  const timespec duration{0, static_cast<long>(time)};
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &duration, nullptr);
}

// Sleeps on one CPU. tid() is known, and the CPU taken or refused, before the constructor returns.
class Sleeper {
 public:
  explicit Sleeper(model::Cpu cpu) : thread_([this, cpu] { Run(cpu); }) { state_.wait(kStarting); }
  ~Sleeper() {
    if (thread_.joinable()) thread_.join();
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  model::Tid tid() const { return tid_; }
  bool refused() const { return state_ == kRefused; }
  bool done() const { return state_ == kDone || state_ == kRefused; }
  void Go() {
    if (refused()) return;
    state_ = kSleeping;
    state_.notify_all();
  }
  std::vector<Nanos> Wakes() {
    thread_.join();
    return wakes_;
  }

 private:
  enum State { kStarting, kReady, kSleeping, kDone, kRefused };

  void Run(model::Cpu cpu) {
    tid_ = static_cast<model::Tid>(::syscall(SYS_gettid));
    cpu_set_t* set = CPU_ALLOC(static_cast<size_t>(cpu) + 1);
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(cpu) + 1);
    CPU_ZERO_S(bytes, set);
    CPU_SET_S(static_cast<size_t>(cpu), bytes, set);
    const bool pinned = ::sched_setaffinity(0, bytes, set) == 0;
    CPU_FREE(set);
    state_ = pinned ? kReady : kRefused;
    state_.notify_all();
    if (!pinned) return;
    state_.wait(kReady);
    for (int i = 0; i < kSleeps; ++i) {
      Sleep(kSleepTime);
      wakes_.push_back(MonotonicNow());
    }
    state_ = kDone;
  }

  std::atomic<State> state_{kStarting};
  model::Tid tid_ = 0;        // written before kReady
  std::vector<Nanos> wakes_;  // read after join()
  std::thread thread_;
};

// Collects switches; everything else is not asked for.
class SwitchCollector : public model::EventSink {
 public:
  void OnSwitch(const model::Switch& event) override {
    switches.push_back(event);
    switches.back().chain = {};
  }
  void OnSwitchIn(const model::SwitchIn&) override {}
  void OnWakeup(const model::Wakeup&) override {}
  void OnFork(const model::Fork&) override {}
  void OnCommChange(const model::CommChange&) override {}
  void OnExit(const model::Exit&) override {}
  void OnMap(const model::Map&) override {}
  void OnCgroupMove(const model::CgroupMove&) override {}
  void OnLoss(const model::Loss&) override {}

  std::vector<model::Switch> switches;
};

std::vector<model::Switch> ReadSwitches(PerfRing& ring, model::Cpu cpu,
                                        const kernel_compat::SwitchFormat& format) {
  SwitchCollector collector;
  Decoder decoder({format, {}, {}, ~0U, false});
  const uint64_t head = ring.Head();
  for (uint64_t at = ring.tail(); at < head;) {
    const auto record = ring.RecordAt(at, head - at);
    if (record.empty()) break;
    decoder.Decode(record, EventKind::kPlainSwitch, TimeOfRecord(record), cpu, collector);
    at += record.size();
  }
  return collector.switches;
}

}  // namespace

Result<CpuProbe> ProbeCpu(model::Cpu cpu, const kernel_compat::SwitchFormat& format,
                          const ReadExecStart& read_exec_start) {
  Sleeper sleeper(cpu);
  if (sleeper.refused()) return CpuProbe{};
  const auto sleep = [&]() -> Result<CpuProbe> {
    perf_event_attr attr = TracepointAttr(format.id, nullptr);
    auto fd = OpenEvent(&attr, {.cpu = cpu});
    if (!fd) return fd.error();
    const std::string tid = std::to_string(sleeper.tid());
    const std::string filter = "prev_pid == " + tid + " || next_pid == " + tid;
    if (::ioctl(fd->get(), PERF_EVENT_IOC_SET_FILTER, filter.c_str()) != 0) {
      return SystemError("filter sched_switch on CPU " + std::to_string(cpu));
    }
    auto ring = PerfRing::Map(fd->get(), kRingBytes);
    if (!ring) return ring.error();
    if (::ioctl(fd->get(), PERF_EVENT_IOC_ENABLE, 0) != 0) {
      return SystemError("enable sched_switch on CPU " + std::to_string(cpu));
    }
    sleeper.Go();
    std::vector<ExecStartReading> readings;
    while (!sleeper.done()) {
      Sleep(kReadingPause);  // not a busy loop: it might keep the very CPU from idling
      ExecStartReading reading;
      reading.before = MonotonicNow();
      const auto value = read_exec_start(sleeper.tid());
      reading.after = MonotonicNow();
      reading.exec_start = value.value_or(0);
      if (value) readings.push_back(reading);
    }
    const std::vector<Nanos> wakes = sleeper.Wakes();
    return JudgeProbe(sleeper.tid(), ReadSwitches(*ring, cpu, format), wakes, readings);
  };
  auto probe = sleep();
  sleeper.Go();  // lets its thread end when something failed before
  return probe;
}

CpuProbe JudgeProbe(model::Tid tid, std::span<const model::Switch> switches,
                    std::span<const Nanos> wakes, std::span<const ExecStartReading> readings) {
  CpuProbe probe;
  int seen = 0;
  int hidden = 0;
  size_t sleep = 0;  // of the next switch-out into a sleep
  for (size_t i = 0; i < switches.size(); ++i) {
    const model::Switch& out = switches[i];
    const bool sleeps = out.prev_tid == tid && out.prev_state == model::kTaskInterruptible;
    if (!sleeps) continue;
    while (sleep < wakes.size() && wakes[sleep] < out.time) ++sleep;
    if (sleep == wakes.size()) break;
    const Nanos wake = wakes[sleep];
    const bool comes_back =
        i + 1 < switches.size() && switches[i + 1].next_tid == tid && switches[i + 1].time <= wake;
    // Another thread that ran in between says nothing of the idle task.
    const bool from_idle = comes_back && switches[i + 1].prev_tid == 0;
    if (out.next_tid == 0 && (from_idle || !comes_back)) ++(from_idle ? seen : hidden);
    for (const ExecStartReading& reading : readings) {
      if (reading.before < out.time || reading.after > wake) continue;
      if (comes_back && reading.after > switches[i + 1].time) continue;
      probe.exec_start_offset =
          static_cast<int64_t>(out.time) - static_cast<int64_t>(reading.exec_start);
    }
  }
  if (hidden > 0) {
    probe.idle = IdleVisibility::kHidden;
  } else if (seen > 0) {
    probe.idle = IdleVisibility::kVisible;
  }
  return probe;
}

}  // namespace offcpu::source::perf
