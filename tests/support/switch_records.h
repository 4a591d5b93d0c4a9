// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "tests/support/perf_records.h"

// Records of the `switch` back end's event, of threads that lead their processes.
namespace offcpu::test {

constexpr uint64_t kContextSwitchEvent = 21;
constexpr uint16_t kRunsOn = 1 << 14;  // PERF_RECORD_MISC_SWITCH_OUT_PREEMPT

inline std::vector<std::byte> ContextSwitch(uint32_t type, uint16_t misc, Nanos time, int32_t tid,
                                            RecordBytes bytes) {
  bytes.Add(tid).Add(tid).Add(time).Add(uint32_t{0}).Add(uint32_t{0}).Add(kContextSwitchEvent);
  return bytes.Record(type, misc);
}
inline RecordBytes Other(int32_t tid) {
  RecordBytes bytes;
  bytes.Add(tid).Add(tid);
  return bytes;
}

// Of a thread's own event.
inline std::vector<std::byte> In(Nanos time, int32_t tid) {
  return ContextSwitch(PERF_RECORD_SWITCH, 0, time, tid, {});
}
inline std::vector<std::byte> Out(Nanos time, int32_t tid, uint16_t misc = 0) {
  return ContextSwitch(PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT | misc, time, tid, {});
}

// Of a CPU's event.
inline std::vector<std::byte> WideIn(Nanos time, int32_t tid, int32_t prev) {
  return ContextSwitch(PERF_RECORD_SWITCH_CPU_WIDE, 0, time, tid, Other(prev));
}
inline std::vector<std::byte> WideOut(Nanos time, int32_t tid, int32_t next, uint16_t misc = 0) {
  return ContextSwitch(PERF_RECORD_SWITCH_CPU_WIDE, PERF_RECORD_MISC_SWITCH_OUT | misc, time, tid,
                       Other(next));
}

// `chain` with context markers.
inline std::vector<std::byte> Sample(Nanos time, int32_t tid, const std::vector<uint64_t>& chain) {
  RecordBytes bytes = SampleHead(kContextSwitchEvent, tid, tid, time);
  bytes.Add(static_cast<uint64_t>(chain.size()));
  for (uint64_t address : chain) bytes.Add(address);
  return bytes.Record(PERF_RECORD_SAMPLE);
}

}  // namespace offcpu::test
