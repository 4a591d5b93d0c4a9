// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include <fmt/format.h>

#include "model/sinks.h"

namespace offcpu::test {

// Writes down each event it gets as a line of text.
class TraceLog : public model::EventSink {
 public:
  const std::string& lines() const { return lines_; }
  void Clear() { lines_.clear(); }

  void OnSwitch(const model::Switch& e) override {
    Add("{} cpu{} {} {}/{} state {}{} > {}", e.time, e.cpu, model::CommView(e.prev_comm),
        e.prev_pid, e.prev_tid, e.prev_state, e.preempted ? "+" : "", e.next_tid);
    lines_.pop_back();
    AddHalf("kernel", e.chain.kernel);
    AddHalf("user", e.chain.user);
    lines_ += e.chain.truncated ? " truncated\n" : "\n";
  }
  void OnSwitchIn(const model::SwitchIn& e) override { Add("{} cpu{} < {}", e.time, e.cpu, e.tid); }
  void OnWakeup(const model::Wakeup& e) override { Add("{} cpu{} wakes {}", e.time, e.cpu, e.tid); }
  void OnFork(const model::Fork& e) override {
    Add("{} {}/{} forks {}/{}", e.time, e.parent_pid, e.parent_tid, e.pid, e.tid);
  }
  void OnCommChange(const model::CommChange& e) override {
    Add("{} {}/{} {} {}", e.time, e.pid, e.tid, e.exec ? "execs" : "named",
        model::CommView(e.comm));
  }
  void OnExit(const model::Exit& e) override { Add("{} {}/{} exits", e.time, e.pid, e.tid); }
  void OnMap(const model::Map& e) override { Add("{} {} maps {}", e.time, e.pid, e.path); }
  void OnCgroupMove(const model::CgroupMove& e) override {
    Add("{} {} moves to {}", e.time, e.tid, e.path);
  }
  void OnLoss(const model::Loss& e) override {
    if (e.to == model::kStillLosing) {
      Add("loss cpu{} {}-", e.cpu, e.from);
    } else {
      Add("loss cpu{} {}-{} count {}", e.cpu, e.from, e.to, e.count);
    }
  }

 private:
  template <class... Parts>
  void Add(fmt::format_string<const Parts&...> format, const Parts&... parts) {
    lines_ += fmt::format(format, parts...) + "\n";
  }
  void AddHalf(const char* name, std::span<const uint64_t> addresses) {
    if (addresses.empty()) return;
    lines_ += fmt::format(" {}", name);
    for (const uint64_t address : addresses) lines_ += fmt::format(" {:x}", address);
  }

  std::string lines_;
};

}  // namespace offcpu::test
