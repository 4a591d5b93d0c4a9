// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "source/replay/input.h"
#include "source/replay/own_processes.h"
#include "source/replay/recording.h"
#include "source/replay/text_line.h"
#include "source/replay/unprinted_cpus.h"

namespace offcpu::source::replay {

// Scheduler events printed as text, read line by line: what `perf script`, `trace-cmd report` and
// the kernel's trace files show. The events come as they are printed, in time order over all CPUs;
// a switch that is older than what was delivered counts as lost.
//
// A text knows less than a recording: processes only where they are printed (else each thread
// stands for its own), the preempt mark only in the long form, and names in place of addresses.
// Where CPUs are not printed, they are made up of who follows on whom.
class TextReplay : public Recording {
 public:
  // Whether a text begins like one that can be read: an event is among the first lines.
  static bool LooksLikeOne(std::string_view beginning);

  explicit TextReplay(Input input)
      : input_(std::move(input)),
        names_(std::make_shared<model::GivenNames>()),
        unprinted_(kMostUnprintedCpus) {}

  // Reads up to the first event; an error when there is none.
  Result<Nanos> Start() override;
  void Drain(model::EventSink& sink) override;
  Nanos Stop(model::EventSink& sink) override;
  bool finished() const override { return at_end_ && !pending_; }
  std::vector<std::string> Damages() const override;
  Result<void> CheckUse() const override;
  RecordingFacts facts() const override;
  std::shared_ptr<const model::GivenNames> names() const override { return names_; }
  size_t cpu_count() const override { return cpus_.size(); }
  std::vector<Note> notes() const override;

  // Everything is read, nothing delivered.
  RecordingInfo Describe();

 private:
  // A switch whose call chain may still follow.
  struct Pending {
    model::Switch event;
    std::vector<uint64_t> kernel;
    std::vector<uint64_t> user;
    bool chain = false;
  };
  struct CpuSeen {
    uint64_t events = 0;
    Nanos first = 0;
    Nanos last = 0;
    model::Tid next = -1;  // of the last switch
    uint64_t losing = 0;   // events that were lost since `last`
  };

  static constexpr model::Cpu kMostUnprintedCpus = 4096;

  bool ReadLine(std::string* line);
  void TakeLine(std::string_view line, model::EventSink& sink);
  bool TakeEvent(const TextHead& head, model::EventSink& sink);
  bool TakeSwitch(const TextHead& head, model::EventSink& sink);
  bool TakeWakeup(const TextHead& head, model::EventSink& sink);
  bool TakeFork(const TextHead& head, model::EventSink& sink);
  bool TakeName(const TextHead& head, model::EventSink& sink);
  bool TakeExit(const TextHead& head, model::EventSink& sink);
  bool TakeLostRecord(const TextHead& head, model::EventSink& sink);
  model::Cpu CpuOf(const TextHead& head, model::Tid tid) const;
  model::Pid ProcessOf(const TextHead& head, model::Tid tid) const;
  void TakeFrame(const model::SymbolFrame& frame);
  void TakeLoss(const TextLoss& loss, model::EventSink& sink);
  void EndLoss(model::Cpu cpu, Nanos time, model::EventSink& sink);
  void DeliverPending(model::EventSink& sink);
  bool InOrder(const TextHead& head, model::Cpu cpu, model::EventSink& sink);
  void NoteUnread();
  bool FollowsTasks() const;
  CpuSeen& SeenOn(model::Cpu cpu);
  void AddWarnings();

  Input input_;
  std::shared_ptr<model::GivenNames> names_;
  std::optional<std::string> first_line_;  // read by Start()
  uint64_t first_line_number_ = 0;
  std::optional<Pending> pending_;
  bool at_end_ = false;
  Nanos released_ = 0;
  uint64_t line_number_ = 0;
  OwnProcesses own_processes_;
  std::vector<CpuSeen> cpus_;
  UnprintedCpus unprinted_;
  bool use_wakings_ = false;  // as there are no sched_wakeup

  uint64_t switches_ = 0;
  uint64_t wakeups_ = 0;
  uint64_t wakings_ = 0;
  uint64_t task_events_ = 0;       // forks, names, exits
  uint64_t ordered_switches_ = 0;  // that were not late; of them:
  uint64_t idle_outs_ = 0;         // switches by the idle task
  uint64_t chained_ = 0;           // switches by the thread that its CPU had switched to
  uint64_t lost_ = 0;
  uint64_t late_ = 0;
  uint64_t unread_lines_ = 0;
  uint64_t first_unread_ = 0;  // its number
  bool short_form_ = false;
  bool marks_ = false;  // a preempt mark was seen
  bool cpus_printed_ = true;
  int digits_ = 9;
};

}  // namespace offcpu::source::replay
