// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kernel-compat/process_formats.h"
#include "kernel-compat/sched_formats.h"
#include "kernel-compat/trace_formats.h"
#include "model/sinks.h"
#include "source/request.h"
#include "source/tracefs/threads.h"

namespace offcpu::source::tracefs {

// Events that are not recorded have id 0, which no record has.
struct Formats {
  kernel_compat::RecordHead head;
  kernel_compat::SwitchFormat switches;
  kernel_compat::WakeupFormat wakeup;
  kernel_compat::CgroupAttachFormat cgroup;
  kernel_compat::NewTaskFormat new_task;
  kernel_compat::ExecFormat exec;
  kernel_compat::ExitFormat exit;
  kernel_compat::RenameFormat rename;
  kernel_compat::StackFormat kernel_stack;
  kernel_compat::StackFormat user_stack;
};

struct DecodeOptions {
  Formats formats;
  kernel_compat::WantedReasons chain_reasons;  // other switches are delivered without a chain
  uint32_t max_stack = 127;                    // frames of both halves
  ReadMaps read_maps;                          // empty: no mappings are wanted
};

struct DecodeCounters {
  uint64_t events = 0;     // records of switches and wake-ups
  uint64_t malformed = 0;  // too short for their format, or with ids that cannot exist
};

// Turns raw trace records into model events. Allocates nothing for a switch.
//
// A switch is followed by its stacks, in records of their own on the same CPU: BeginSwitch() keeps
// it, AddStack() takes those, DeliverSwitch() hands it over.
class Decoder {
 public:
  enum class Kind { kSwitch, kStack, kOther };

  Decoder(DecodeOptions options, ThreadTable& threads);

  Kind KindOf(std::span<const std::byte> raw) const;

  // False when the record is malformed; nothing is to be delivered then.
  bool BeginSwitch(std::span<const std::byte> raw, Nanos time, model::Cpu cpu);
  // Whether the stack belongs to the switch of BeginSwitch().
  bool AddStack(std::span<const std::byte> raw);
  const model::Switch& DeliverSwitch(model::EventSink& sink);

  // Wake-ups and what happens to threads.
  void Decode(std::span<const std::byte> raw, Nanos time, model::Cpu cpu, model::EventSink& sink);
  // Whether the record tells what happened to threads, which holds at any later time, too.
  bool IsProcessEvent(std::span<const std::byte> raw) const;

  const DecodeCounters& counters() const { return counters_; }
  // The event whose format does not describe its records, if one was met: ids that cannot exist.
  std::string_view misread_event() const { return misread_event_; }

  // Processes that called execve since the last call.
  struct Execed {
    model::Pid pid = 0;
    Nanos time = 0;
  };
  std::vector<Execed> TakeExecs();

 private:
  uint16_t TypeOf(std::span<const std::byte> raw) const;
  model::Tid WriterOf(std::span<const std::byte> raw) const;
  bool Plausible(std::initializer_list<model::Tid> tids, std::string_view event);
  bool WantsChain(const model::Switch& event) const;
  bool DecodeWakeup(std::span<const std::byte> raw, Nanos time, model::Cpu cpu,
                    model::EventSink& sink);
  bool DecodeCgroup(std::span<const std::byte> raw, Nanos time, model::EventSink& sink);
  bool DecodeNewTask(std::span<const std::byte> raw, Nanos time, model::EventSink& sink);
  bool DecodeExec(std::span<const std::byte> raw, Nanos time, model::Cpu cpu,
                  model::EventSink& sink);
  bool DecodeExit(std::span<const std::byte> raw, Nanos time, model::EventSink& sink);
  bool DecodeRename(std::span<const std::byte> raw, Nanos time, model::Cpu cpu,
                    model::EventSink& sink);

  const DecodeOptions options_;
  ThreadTable& threads_;
  model::Switch switch_;
  model::Tid writer_ = 0;  // of the switch
  std::vector<uint64_t> kernel_;
  std::vector<uint64_t> user_;
  std::unordered_map<model::Tid, model::Comm> renamed_;  // since their last exec
  std::vector<Execed> execs_;
  std::string_view misread_event_;
  DecodeCounters counters_;
};

}  // namespace offcpu::source::tracefs
