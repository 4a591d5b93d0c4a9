// SPDX-License-Identifier: MIT
// One workload under all back ends at once: what they say of each interval has to be the same.
#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "process/proc_reader.h"
#include "sched/tracker.h"
#include "source/bpf/bpf_source.h"
#include "source/select.h"
#include "tests/support/live.h"
#include "tests/support/live_view.h"

namespace offcpu::live {
namespace {

using model::Reason;

// How far apart two readings of the clock at one switch may be.
constexpr Nanos kBound = 20'000;
// ... and when the host took the CPU away between them.
constexpr Nanos kInterrupted = 500'000;

// Follows the program's threads as one back end tells of them.
class Watcher : public model::EventSink,
                public model::IntervalSink,
                public model::StackInterner,
                public model::ThreadDirectory {
 public:
  Watcher(std::string name, const Program& program) : name_(std::move(name)), pid_(program.pid()) {
    for (const SleepingPlace& place : program.Places()) tids_.push_back(place.tid);
  }

  const std::string& name() const { return name_; }
  const std::vector<pid_t>& tids() const { return tids_; }
  Nanos begin() const { return tracker_.window_start(); }
  Nanos end() const { return end_; }
  uint64_t hidden() const { return tracker_.counters().hidden_intervals; }
  const std::vector<model::Interval>& Of(pid_t tid) const { return intervals_[RowOf(tid)]; }
  const sched::Account& AccountOf(pid_t tid) const { return tracker_.accounts().at(RowOf(tid)); }

  void Open() {
    source::Request request;
    request.read_exec_start = [](model::Tid) { return std::optional<Nanos>(); };
    request.list_threads = process::ListThreads;
    request.chain_reasons = {true, true, true};
    // Each would stand in the others' way with its walk over the stack.
    request.chains = {.kernel = false, .user = false};
    request.target.kind = source::Target::Kind::kProcesses;
    request.target.processes = {pid_};
    auto opened = source::OpenBackEnd(name_, request);
    ASSERT_TRUE(opened) << name_ << ": " << opened.error().message;
    source_ = std::move(opened->source);
  }
  void Start() {
    ASSERT_TRUE(source_->StartSideband());
    const auto begin = source_->Start();
    ASSERT_TRUE(begin) << begin.error().message;
    tracker_.Begin(*begin);
    intervals_.resize(tids_.size() + 1);
    for (pid_t tid : tids_) {
      const auto stat = process::ReadThreadStat(pid_, tid);
      ASSERT_TRUE(stat);
      tracker_.Follow({tid, RowOf(tid), stat->task_state, stat->cpu, MonotonicNow(), 0});
    }
  }
  void Stop() {
    end_ = source_->Stop(*this);
    tracker_.Finish(end_);
  }

  void OnSwitch(const model::Switch& event) override { tracker_.OnSwitch(event); }
  void OnSwitchIn(const model::SwitchIn& event) override { tracker_.OnSwitchIn(event); }
  void OnWakeup(const model::Wakeup& event) override { tracker_.OnWakeup(event); }
  void OnFork(const model::Fork&) override {}
  void OnCommChange(const model::CommChange&) override {}
  void OnExit(const model::Exit&) override {}
  void OnMap(const model::Map&) override {}
  void OnCgroupMove(const model::CgroupMove&) override {}
  void OnLoss(const model::Loss& loss) override {
    ADD_FAILURE() << name_ << " lost " << loss.count;
  }
  void OnHandOver(const model::HandOver& event) override { tracker_.OnHandOver(event); }
  void OnTrackedInterval(const model::TrackedInterval& tracked) override {
    tracker_.OnTrackedInterval(tracked);
  }
  void OnTrackedAccount(const model::TrackedAccount& tracked) override {
    tracker_.OnAccount(tracked);
  }

  void OnInterval(const model::Interval& interval) override {
    if (interval.left_open || interval.right_open) return;  // each recording has an end of its own
    intervals_[interval.thread].push_back(interval);
  }
  model::StackIds Intern(model::Pid, const model::CallChain&) override { return {}; }
  Answer LookUp(model::Tid, model::Pid) override { return {Answer::kIgnore, 0}; }

 private:
  model::ThreadRow RowOf(pid_t tid) const {
    const auto at = std::find(tids_.begin(), tids_.end(), tid);
    return static_cast<model::ThreadRow>(at - tids_.begin() + 1);
  }

  const std::string name_;
  const pid_t pid_;
  std::vector<pid_t> tids_;
  std::unique_ptr<source::Source> source_;
  sched::Tracker tracker_{*this, *this, *this, /*wakeups_recorded=*/true};
  std::vector<std::vector<model::Interval>> intervals_;  // by row
  Nanos end_ = 0;
};

Nanos Apart(Nanos a, Nanos b) { return std::max(a, b) - std::min(a, b); }

struct Work {
  std::string program;
  Arguments arguments;
};

class ParityTest : public LiveTest {
 protected:
  // All record the program's work; `proc` is the profile of the back end that only samples.
  void RecordAll(const Work& work) {
    watchers_.clear();
    Arguments arguments = work.arguments;
    arguments.insert(arguments.begin(), {"--cpu", std::to_string(Cpus().front())});
    Program program(work.program, arguments);
    OFFCPU_AWAIT_READY(program);
    ReadAll(program);
    for (const char* name : {"perf", "bpf", "tracefs", "switch"}) {
      if (std::string_view(name) == "bpf" && !HasBpf()) continue;
      watchers_.emplace_back(name, program);
      ASSERT_NO_FATAL_FAILURE(watchers_.back().Open());
    }
    const Nanos left_out = LeftOutTime();
    Recorder proc = StartRecorder(
        {"--backend", "proc", "-p", std::to_string(program.pid()), "--reasons", "all"});
    ASSERT_TRUE(proc.AwaitStart());
    for (Watcher& watcher : watchers_) ASSERT_NO_FATAL_FAILURE(watcher.Start());
    program.Go();
    ASSERT_TRUE(program.Await("done"));
    ReadAll(program);
    for (Watcher& watcher : watchers_) watcher.Stop();
    EXPECT_EQ(proc.Stop(), 0) << proc.Output();
    sampled_ = proc.Load();
    left_out_ = LeftOutSince(left_out);
  }

  // What a repetition may cure: the host took a CPU away, or hid a switch (KF 0).
  bool Disturbed() const {
    return left_out_ > 0 || std::any_of(watchers_.begin(), watchers_.end(),
                                        [](const Watcher& one) { return one.hidden() > 0; });
  }

  // Where back ends disagree; empty when they don't.
  std::vector<std::string> Differences() const {
    std::vector<std::string> found;
    const Watcher& perf = watchers_.front();
    for (pid_t tid : perf.tids()) {
      for (const Watcher& other : watchers_) {
        const std::string difference = Compare(perf, other, tid);
        if (!difference.empty()) found.push_back(fmt::format("{} {}", other.name(), difference));
      }
      const std::string difference = CompareSums(perf, tid);
      if (!difference.empty()) found.push_back("proc " + difference);
    }
    return found;
  }

  std::deque<Watcher> watchers_;  // perf first
  profile::Profile sampled_;
  Nanos left_out_ = 0;

 private:
  // Interval by interval. Those that one of them has alone are as many as have a hidden end (KF 0).
  // `switch` knows blocked from not blocked only, and its records stand on the other side of what
  // the others do at a switch.
  std::string Compare(const Watcher& perf, const Watcher& other, pid_t tid) const {
    const bool only_blocked = other.name() == "switch";
    const Nanos bound = only_blocked ? 10 * kBound : kBound;
    const auto& a = perf.Of(tid);
    const auto& b = other.Of(tid);
    size_t alone = 0;
    size_t apart = 0;
    for (size_t i = 0, j = 0; i < a.size() || j < b.size();) {
      if (i == a.size() || j == b.size() ||
          Apart(a[i].start, b[j].start) > bound + std::min(left_out_, kInterrupted)) {
        const bool first_is_ours = j == b.size() || (i < a.size() && a[i].start < b[j].start);
        ++(first_is_ours ? i : j);
        ++alone;
        continue;
      }
      if ((a[i].reason == Reason::kBlocked) != (b[j].reason == Reason::kBlocked) ||
          (!only_blocked && (a[i].reason != b[j].reason || a[i].task_state != b[j].task_state))) {
        return fmt::format("{}: reason or state of interval {}", tid, i);
      }
      const Nanos distance = std::max(Apart(a[i].start, b[j].start), Apart(a[i].end, b[j].end));
      if (distance > bound) ++apart;
      ++i, ++j;
    }
    const size_t interrupted = left_out_ == 0 ? 0 : std::max<size_t>(1, a.size() / 100);
    if (alone <= perf.hidden() + other.hidden() && apart <= interrupted) return "";
    return fmt::format("{}: of {} and {} intervals {} are alone, {} too far apart", tid, a.size(),
                       b.size(), alone, apart);
  }

  // 1 % of the thread's time, and what the two windows do not share.
  std::string CompareSums(const Watcher& perf, pid_t tid) const {
    const sched::Account& exact = perf.AccountOf(tid);
    const profile::Thread account = live::AccountOf(sampled_, tid);
    const Nanos bound = (exact.last - exact.first) / 100 +
                        Apart(perf.begin(), sampled_.origin.start_monotonic_ns) +
                        Apart(perf.end(), sampled_.origin.start_monotonic_ns + sampled_.window_ns);
    const Nanos apart[] = {
        Apart(account.on_cpu_ns, exact.on_cpu),
        Apart(account.sleeping_ns, exact.blocked.sleeping + exact.blocked.unsplit),
        Apart(account.runqueue_ns + account.runnable_ns + account.preempted_ns,
              exact.blocked.runqueue + exact.runnable + exact.preempted)};
    if (*std::max_element(std::begin(apart), std::end(apart)) <= bound) return "";
    return fmt::format("{}: sums {} ns apart (on CPU, sleeping, waiting), bound {}", tid,
                       fmt::join(apart, ", "), bound);
  }

  static bool HasBpf() {
    const auto checks = source::bpf::CheckBpf();
    return std::none_of(checks.begin(), checks.end(), [](const source::Check& check) {
      return check.status == source::Check::Status::kMissing && check.needed;
    });
  }
};

// A comparison that the host disturbed is made again; what it has to satisfy stays the same.
TEST_F(ParityTest, AllBackEndsSeeTheSameIntervalsAtOnce) {
  constexpr int kAttempts = 10;
  const Work works[] = {{"nanosleep", {"200", "3000000"}},
                        {"futex", {"200", "2000000"}},
                        {"pipe", {"1000"}},
                        {"yield", {"1000"}}};
  for (const Work& work : works) {
    SCOPED_TRACE(work.program);
    std::vector<std::string> differences;
    for (int attempt = 1; attempt <= kAttempts; ++attempt) {
      ASSERT_NO_FATAL_FAILURE(RecordAll(work));
      differences = Differences();
      if (differences.empty() || !Disturbed()) break;
    }
    EXPECT_TRUE(differences.empty()) << fmt::format("{}", fmt::join(differences, "\n"));
    size_t intervals = 0;
    for (pid_t tid : watchers_.front().tids()) intervals += watchers_.front().Of(tid).size();
    EXPECT_GE(intervals + watchers_.front().hidden(), 200U);
  }
}

}  // namespace
}  // namespace offcpu::live
