// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernel-compat/trace_formats.h"
#include "source/replay/own_processes.h"
#include "source/replay/recording.h"
#include "source/replay/ring_pages.h"
#include "source/replay/trace_formats.h"
#include "source/tracefs/page.h"
#include "source/tracefs/threads.h"

namespace offcpu::source::replay {

// Pages of the kernel's trace ring as somebody kept them, and what is needed to read them.
struct RingRecording {
  struct Cpu {
    model::Cpu number = 0;
    std::function<std::unique_ptr<PageFile>()> open;  // from the first page on, each time
  };
  std::string format;  // "trace.dat of version 6"
  std::string clock;   // as trace_clock names it; "": not told
  kernel_compat::PageLayout layout;
  tracefs::Formats formats;
  std::vector<Cpu> cpus;
  RecordingFacts facts;
  std::string written_by;
  std::vector<std::string> warnings;
};

// What was seen of one CPU's ring.
struct RingSeen {
  uint64_t records = 0;
  Nanos first = 0;
  Nanos last = 0;
};

// Counts over all CPUs.
struct RingCounters {
  uint64_t switches = 0;
  uint64_t wakeups = 0;
  uint64_t stacks = 0;
  uint64_t others = 0;  // records of events that are not read
  uint64_t lost = 0;    // events that pages say are missing
  uint64_t late = 0;
  uint64_t damaged_pages = 0;
  uint64_t cut_cpus = 0;  // whose last pages are missing
};

class RingLane;

// The pages of all CPUs merged in time order, one page a CPU in memory. A page that says that
// events before it were overwritten, or that is damaged, is a loss between the CPU's record before
// and the page behind; where the file ends too early, up to the end of the window.
class RingReplay : public Recording {
 public:
  explicit RingReplay(RingRecording recording);
  ~RingReplay() override;

  Result<Nanos> Start() override;
  void Drain(model::EventSink& sink) override;
  Nanos Stop(model::EventSink& sink) override;
  bool finished() const override { return finished_; }
  std::vector<std::string> Damages() const override;
  Result<void> CheckUse() const override;
  RecordingFacts facts() const override { return recording_.facts; }
  size_t cpu_count() const override { return recording_.cpus.size(); }
  std::vector<Note> notes() const override;

  // Everything is read, nothing delivered.
  RecordingInfo Describe();

 private:
  bool HoldsWakeups() const;
  void AddWarnings();

  RingRecording recording_;
  std::vector<std::unique_ptr<PageFile>> pages_;  // by CPU
  tracefs::ThreadTable threads_;
  std::unique_ptr<tracefs::Decoder> decoder_;
  OwnProcesses sink_;
  std::vector<std::unique_ptr<RingLane>> lanes_;
  RingCounters counters_;
  Nanos released_ = 0;
  Nanos horizon_ = 0;
  bool finished_ = false;
};

}  // namespace offcpu::source::replay
