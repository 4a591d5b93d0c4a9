// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "kernel-compat/sched_formats.h"
#include "model/ids.h"
#include "model/sched_event.h"
#include "source/request.h"

namespace offcpu::source::perf {

enum class IdleVisibility { kVisible, kHidden, kUndecided };

struct CpuProbe {
  IdleVisibility idle = IdleVisibility::kUndecided;
  // CLOCK_MONOTONIC minus the CPU's rq clock, for reading other threads' se.exec_start.
  std::optional<int64_t> exec_start_offset;
};

// Some kernels hide what a CPU's idle task does from tracepoints, so that sleepers woken there
// never seem to come back (KF 0). A thread of ours sleeps a few times on `cpu`, about 2 ms in all,
// and its own switches are looked at. kUndecided: the CPU was never idle, or we may not run there.
Result<CpuProbe> ProbeCpu(model::Cpu cpu, const kernel_compat::SwitchFormat& format,
                          const ReadExecStart& read_exec_start);

// ---- The judgement, apart from the kernel, for tests ----

struct ExecStartReading {
  Nanos before = 0;  // the clock around the reading
  Nanos after = 0;
  Nanos exec_start = 0;
};

// `switches` are those from and to thread `tid`, in order; `wakes` the times at which its sleeps
// ended.
CpuProbe JudgeProbe(model::Tid tid, std::span<const model::Switch> switches,
                    std::span<const Nanos> wakes, std::span<const ExecStartReading> readings);

}  // namespace offcpu::source::perf
