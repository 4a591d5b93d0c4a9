// SPDX-License-Identifier: MIT
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "base/unique_fd.h"
#include "model/sinks.h"
#include "source/replay/open.h"

namespace offcpu::test {

// Writes down what a source delivers, one line an event.
class EventLines : public model::EventSink {
 public:
  void OnSwitch(const model::Switch& e) override {
    ++switches;
    kernel_frames += e.chain.kernel.size();
    user_frames += e.chain.user.size();
    if (e.preempted) ++preempted;
    Add(e.time, fmt::format("cpu {} {}({:#x}{})>{} chain {}+{}", e.cpu, e.prev_tid, e.prev_state,
                            e.preempted ? "+" : "", e.next_tid, e.chain.kernel.size(),
                            e.chain.user.size()));
    states.push_back(e.prev_state);
  }
  void OnSwitchIn(const model::SwitchIn& e) override {
    ++switch_ins;
    Add(e.time, fmt::format("cpu {} in {}", e.cpu, e.tid));
  }
  void OnWakeup(const model::Wakeup& e) override {
    ++wakeups;
    Add(e.time, fmt::format("cpu {} wakes {}", e.cpu, e.tid));
  }
  void OnFork(const model::Fork& e) override {
    ++forks;
    Add(e.time, fmt::format("fork {}/{}", e.pid, e.tid));
  }
  void OnCommChange(const model::CommChange& e) override {
    ++comms;
    Add(e.time, fmt::format("comm {}/{} {}", e.pid, e.tid, model::CommView(e.comm)));
  }
  void OnExit(const model::Exit& e) override {
    ++exits;
    Add(e.time, fmt::format("exit {}/{}{}", e.pid, e.tid, e.last ? " at last" : ""));
  }
  void OnMap(const model::Map& e) override {
    ++maps;
    Add(e.time, fmt::format("map {} {}", e.pid, e.path));
  }
  void OnCgroupMove(const model::CgroupMove& e) override { Add(e.time, "cgroup"); }
  void OnLoss(const model::Loss& loss) override {
    lost += loss.count;
    lines.push_back(
        fmt::format("lost {} on cpu {} from {} to {}", loss.count, loss.cpu, loss.from, loss.to));
  }

  std::vector<std::string> lines;
  std::vector<uint32_t> states;
  uint64_t switches = 0, switch_ins = 0, wakeups = 0, forks = 0, comms = 0, exits = 0, maps = 0;
  uint64_t preempted = 0, lost = 0, kernel_frames = 0, user_frames = 0;
  bool in_order = true;

 private:
  void Add(Nanos time, const std::string& text) {
    if (time != 0 && time < last_) in_order = false;
    if (time != 0) last_ = time;
    lines.push_back(std::to_string(time) + " " + text);
  }
  Nanos last_ = 0;
};

// All of a recording, or why it is refused.
struct Replayed {
  EventLines events;
  std::string refusal;  // message and hint
  Nanos begin = 0;
  Nanos end = 0;
  bool damaged = false;
  std::vector<source::Note> notes;
};

inline Replayed ReplayFile(const std::string& path, const std::string& formats = {}) {
  Replayed result;
  const auto refuse = [&](const Error& error) {
    result.refusal = error.message + "; " + error.hint;
  };
  auto source = source::replay::OpenRecording(path, formats);
  if (!source) {
    refuse(source.error());
    return result;
  }
  const auto begin = (*source)->Start();
  if (!begin) {
    refuse(begin.error());
    return result;
  }
  result.begin = *begin;
  while (!(*source)->finished()) (*source)->Drain(result.events);
  result.end = (*source)->Stop(result.events);
  if (const auto usable = (*source)->CheckUse(); !usable) refuse(usable.error());
  result.damaged = (*source)->damaged();
  result.notes = (*source)->notes();
  return result;
}

// The same of bytes in memory: thousands of files on a disk would take minutes.
inline Replayed ReplayBytes(const std::string& bytes) {
  const UniqueFd fd(::memfd_create("recording", MFD_CLOEXEC));
  OFFCPU_CHECK(fd &&
               ::write(fd.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  return ReplayFile("/proc/self/fd/" + std::to_string(fd.get()));
}

}  // namespace offcpu::test
