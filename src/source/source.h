// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "model/sinks.h"
#include "source/request.h"

namespace offcpu::source {

// Something a source counted, for the notes of a profile.
struct Note {
  std::string name;
  uint64_t count = 0;
};

// Kernel events of one recording, from one back end. Life: it is opened with everything that can
// fail already tried, but records nothing; StartSideband(); Start(); Drain() again and again;
// Stop() once. Events come in time order (model::EventSink), on CLOCK_MONOTONIC.
class Source {
 public:
  virtual ~Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  // Begins to record forks, execs, exits and mappings, so that /proc can be read meanwhile without
  // missing any.
  virtual Result<void> StartSideband() = 0;
  // Begins to record all events. The window starts at the time returned.
  virtual Result<Nanos> Start() = 0;
  // Delivers what is ready. To be called when a descriptor of poll_fds() becomes readable, and at
  // least once a second.
  virtual void Drain(model::EventSink& sink) = 0;
  // Ends the recording and delivers the rest up to the end of the window, which is returned.
  virtual Nanos Stop(model::EventSink& sink) = 0;

  virtual std::vector<int> poll_fds() const = 0;
  virtual size_t cpu_count() const = 0;
  // What it counted so far, in a fixed order; zeros may be left out.
  virtual std::vector<Note> notes() const = 0;
  // Sentences for people: smaller rings than asked for, what this back end can't tell...
  const std::vector<std::string>& warnings() const { return warnings_; }

  // ---- What only some back ends know; the rest keep these ----

  // The CPU's idle task turned out to be hidden from tracepoints (KF 0): tell of the sleepers it
  // wakes by other means.
  virtual Result<void> CoverIdle(model::Cpu) { return {}; }
  // CPUs that are covered only because nothing was known of their idle task, which costs something.
  virtual std::vector<model::Cpu> undecided_cpus() const { return {}; }
  virtual void UncoverIdle(model::Cpu) {}
  virtual std::vector<model::Cpu> covered_cpus() const { return {}; }
  // CLOCK_MONOTONIC minus the CPU's rq clock, for reading other threads' se.exec_start.
  virtual std::optional<int64_t> ExecStartOffset(model::Cpu) const { return std::nullopt; }

 protected:
  Source() = default;
  std::vector<std::string> warnings_;
};

}  // namespace offcpu::source
