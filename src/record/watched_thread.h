// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "model/ids.h"
#include "model/sched_event.h"
#include "process/thread_counters.h"
#include "record/sampled_account.h"
#include "record/sampled_places.h"
#include "record/sampled_session.h"
#include "record/thread_files.h"

namespace offcpu::record {

constexpr size_t kMaxWatchedThreads = 100'000;

// A thread of a SampledSession, as it was found when it was looked at last.
struct SampledSession::Watched {
  Watched(model::Pid the_pid, model::Tid the_tid, model::ThreadRow the_row, bool stack, bool keep)
      : pid(the_pid), tid(the_tid), row(the_row), files(the_pid, the_tid, stack, keep) {}

  const model::Pid pid;
  const model::Tid tid;
  const model::ThreadRow row;
  ThreadFiles files;
  uint64_t start_ticks = 0;
  bool kernel_thread = false;
  model::Pid inner_pid = 0;
  model::Tid inner_tid = 0;
  std::string comm;
  std::string process;
  SampledAccount account;
  process::SwitchCounts switches_before;
  process::SwitchCounts switches;
  uint64_t switches_read_at = ~uint64_t{0};  // switch_ins then
  process::SchedStat counters;
  std::string counters_text;
  uint32_t task_state = model::kTaskRunning;
  bool asleep = false;
  bool same_place = false;  // while the counters stay
  SampledPlaces::CellId cell = 0;
  bool ended = false;
};

}  // namespace offcpu::record
