// SPDX-License-Identifier: MIT
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "model/ids.h"
#include "source/request.h"

namespace offcpu::source::perf {

// All events share one record head: IDENTIFIER, TID, TIME, CPU (perf_event_open(2)), the same as
// the trailer of the other records (sample_id_all); times are CLOCK_MONOTONIC. No
// PERF_SAMPLE_PERIOD: it silently disables sampling (KF 1).
constexpr uint64_t kSampleHead =
    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;

// fork, exec, comm, exit, mmap2; owns the ring. `wakeup_bytes`: poll() wakes when so much was
// written.
perf_event_attr SidebandAttr(uint32_t wakeup_bytes);

// PERF_RECORD_SWITCH of all threads on a CPU. Never two of these on one CPU: each record would come
// twice (KF 9).
perf_event_attr SwitchRecordsAttr();

// The one event of the `switch` back end, which tells all: PERF_RECORD_SWITCH, what SidebandAttr()
// has, and when `chains` is given a sample with the call chain in front of each switch-out's
// record.
perf_event_attr ContextSwitchAttr(const ChainOptions* chains);

// An event without records, to own a ring.
perf_event_attr RingOwnerAttr(uint32_t wakeup_bytes);

// A tracepoint with its raw fields, with call chains when `chains` is given.
perf_event_attr TracepointAttr(uint64_t id, const ChainOptions* chains);

// Whom an event sees, and where.
struct Scope {
  model::Cpu cpu = 0;
  model::Tid tid = -1;  // -1: everybody; 0: the calling thread
};

// Opens an event. Kernels before 6.0 have no PERF_FORMAT_LOST: it is left out there and
// attr.read_format says so. Errors: kPermission names perf_event_paranoid's value and the
// capability; kUnsupported when the kernel refuses the attributes or the system call.
// `error_number` gets errno of a failure.
Result<UniqueFd> OpenEvent(perf_event_attr* attr, Scope scope, int* error_number = nullptr);

// What the kernel calls an open event in its records (PERF_EVENT_IOC_ID).
Result<uint64_t> EventId(int fd);

// Records of an event that the kernel dropped for lack of room so far; the event must have been
// opened with PERF_FORMAT_LOST.
uint64_t ReadLost(int fd);

// kernel.perf_event_paranoid; 2 where it can't be read.
int ParanoidLevel();

}  // namespace offcpu::source::perf
