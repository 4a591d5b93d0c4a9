// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "kernel-compat/trace_formats.h"
#include "model/sinks.h"
#include "source/merge.h"
#include "source/source.h"
#include "source/tracefs/decode.h"
#include "source/tracefs/instance.h"
#include "source/tracefs/lane.h"
#include "source/tracefs/pipe.h"
#include "source/tracefs/threads.h"
#include "source/tracefs_files.h"

namespace offcpu::source::tracefs {

// The `tracefs` back end: every context switch of every CPU from a tracefs instance of our own, for
// where perf_event_open is refused. Clock, buffers, events and options are the instance's; the rest
// of the host's tracing is not touched. Kernel stacks come from a stacktrace trigger on the wanted
// reasons; user stacks, of 8 frames at most, from the option userstacktrace. Delivers events in
// time order (model::EventSink); mappings only as /proc shows them after an execve.
class TracefsSource : public Source {
 public:
  // Removes what killed recorders left behind, too. kUnsupported inside a pid namespace, whose ids
  // trace events do not carry.
  static Result<std::unique_ptr<Source>> Open(const Request& request);

  Result<void> StartSideband() override;
  Result<Nanos> Start() override;
  void Drain(model::EventSink& sink) override;
  // Removes the instance as well.
  Nanos Stop(model::EventSink& sink) override;

  std::vector<int> poll_fds() const override;
  size_t cpu_count() const override { return lanes_.size(); }
  std::vector<Note> notes() const override;

  const Instance& instance() const { return *instance_; }

 private:
  TracefsSource() = default;

  Result<void> ReadFormats(const Request& request);
  Result<void> SetUp(const Request& request);
  Result<void> SetClock();
  Result<void> SetOptions();
  Result<void> SetBuffers(size_t wanted_bytes);
  void PrepareStacks(const Request& request);
  Result<void> OpenPipes();
  void Round(Nanos horizon, model::EventSink& sink);
  void RereadMaps(model::EventSink& sink);
  void SayWhatIsMissing();

  std::optional<TracefsFiles> files_;
  Formats formats_;
  std::string stack_trigger_;  // empty: no kernel stacks
  bool user_stacks_ = false;
  bool has_watermark_ = false;  // poll(2) waits until a part of a ring is full
  size_t buffer_bytes_ = 0;
  uint64_t losses_seen_ = 0;
  ReadMaps read_maps_;
  std::vector<Decoder::Execed> fresh_execs_;

  // Outlives the pipes: it can't be removed while they are open.
  std::optional<Instance> instance_;
  kernel_compat::PageLayout layout_;
  ThreadTable threads_;
  std::unique_ptr<Decoder> decoder_;
  MergeState state_;
  std::vector<std::unique_ptr<CpuPipe>> pipes_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::unique_ptr<Merge<Lane>> merge_;
  Nanos last_round_ = 0;  // the clock before the first read of the round before
};

}  // namespace offcpu::source::tracefs
