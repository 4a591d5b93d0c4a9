// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "model/ids.h"
#include "model/sched_event.h"
#include "model/stack.h"

// The profile as a value: what the recorder makes, the file holds and every command reads. Times
// are nanoseconds of CLOCK_MONOTONIC, `*_ns` offsets count from the start of the window. Ids are
// positions in the vectors; id 0 is the empty string, "no frame", "no stack" and "no thread", so
// element 0 of each vector is a placeholder. proto/profile.proto and offcpu-profile(5) describe
// the same thing on disk.
namespace offcpu::profile {

using StringId = uint32_t;
using FrameId = uint32_t;
using NodeId = uint32_t;
using ThreadId = uint32_t;

using model::FrameKind;

struct Frame {
  FrameKind kind = FrameKind::kMarker;
  bool inlined = false;  // by the compiler into the next frame towards the root
  StringId name = 0;     // function, without offset; "[unknown]" or 0x... when it has no symbol
  StringId module = 0;   // file name of the mapping, "[kernel]", kernel module "[ext4]", "[vdso]"

  bool operator==(const Frame&) const = default;
};

// A stack is a path from a node to the root; the leaf is what the thread did last.
struct StackNode {
  NodeId parent = 0;
  FrameId frame = 0;

  bool operator==(const StackNode&) const = default;
};

// The account of one thread inside the window (law 1): on_cpu + blocked + runnable + preempted +
// newborn + unknown = last_ns - first_ns, and blocked = sleeping + runqueue + unsplit.
struct Thread {
  model::Pid pid = 0;
  model::Tid tid = 0;        // 0: a row that stands for several ended threads of the process
  model::Pid inner_pid = 0;  // ids in the thread's own pid namespace; equal to pid, tid outside one
  model::Tid inner_tid = 0;
  StringId comm = 0;     // last name of the thread
  StringId process = 0;  // last name of the process (its leader's comm)
  bool kernel_thread = false;
  uint64_t merged_threads =
      0;  // tid 0 only: how many; then first_ns is 0, last_ns the sum of lives
  Nanos first_ns = 0;
  Nanos last_ns = 0;
  Nanos on_cpu_ns = 0;
  Nanos sleeping_ns = 0;
  Nanos runqueue_ns = 0;
  Nanos unsplit_ns = 0;
  Nanos runnable_ns = 0;
  Nanos preempted_ns = 0;
  Nanos newborn_ns = 0;  // from birth to the first switch-in
  Nanos unknown_ns = 0;
  uint64_t voluntary_switches = 0;    // switch-outs seen as blocked
  uint64_t involuntary_switches = 0;  // all other switch-outs
  uint64_t switch_ins = 0;
  uint64_t samples = 0;  // Origin::sample_hz only: how often it was found blocked

  Nanos blocked_ns() const { return sleeping_ns + runqueue_ns + unsplit_ns; }
  bool operator==(const Thread&) const = default;
};

// Sparse histogram: (bucket, amount), buckets ascending, amounts > 0.
using Histogram = std::vector<std::pair<uint32_t, uint64_t>>;

// One entry for each kernel stack x user stack x reason x state x thread (and names at the time).
// In a sampled profile (Origin::sample_hz) an entry is no sum of intervals: `intervals` counts the
// samples that found the thread there, `observed_ns` is their share of the thread's blocked time,
// which is exact, and what only intervals have (open ones, lengths, max_ns) is absent.
struct Entry {
  NodeId kernel_stack = 0;
  NodeId user_stack = 0;
  model::Reason reason = model::Reason::kUnspecified;
  uint32_t task_state = 0;  // model::TaskState bits
  ThreadId thread = 0;
  StringId comm = 0;  // names at the switch-out
  StringId process = 0;
  uint64_t intervals = 0;
  uint64_t left_open = 0;   // of them: began before the window
  uint64_t right_open = 0;  // of them: had not ended at its end
  Nanos before_ns = 0;      // time of left-open ones before the window, where known (approximate)
  Nanos observed_ns = 0;
  Nanos estimated_ns = 0;  // equals observed_ns while nothing is sampled
  Nanos sleeping_ns = 0;   // sleeping + runqueue + unsplit = observed
  Nanos runqueue_ns = 0;
  Nanos unsplit_ns = 0;
  Nanos max_ns = 0;
  Histogram when;  // bucket b covers [b, b+1) * Profile::when_bucket_ns from the window's start;
                   // amount ns
  Histogram
      lengths;  // bucket b: durations in [2^b, 2^(b+1)) ns, 0 ns in bucket 0; amount intervals

  bool operator==(const Entry&) const = default;
};

// Something counted, with its time where one is known.
struct Counter {
  std::string name;
  uint64_t count = 0;
  Nanos ns = 0;

  bool operator==(const Counter&) const = default;
};

struct LossSpan {
  model::Cpu cpu = 0;
  Nanos from_ns = 0;
  Nanos to_ns = 0;
  uint64_t events = 0;  // 0: possible, not known

  bool operator==(const LossSpan&) const = default;
};

// How and where it was recorded.
struct Origin {
  std::string producer;  // "offcpu 0.1.0"
  std::string backend;   // "perf"
  std::string host;
  std::string kernel_release;
  std::string machine;               // x86_64
  std::string command;               // the command line, for people
  std::string target;                // "pid 4711", "all", "cgroup /a/b", "command make -j4"
  std::vector<std::string> reasons;  // kept by --reasons, in the order of model::Reason
  uint32_t cpus = 0;
  Nanos start_monotonic_ns = 0;    // the window's start
  uint64_t start_realtime_ns = 0;  // the same moment, Unix time
  bool time_split = true;          // wake-ups were recorded
  bool estimated = false;          // stacks were sampled: estimated_ns differs from observed_ns
  uint32_t sample_hz = 0;          // threads were looked at so often a second; 0: every switch seen

  bool sampled() const { return sample_hz != 0; }
  bool operator==(const Origin&) const = default;
};

struct Profile {
  Origin origin;
  Nanos window_ns = 0;
  Nanos when_bucket_ns = 0;  // width of Entry::when buckets
  std::vector<std::string> strings{std::string()};
  std::vector<Frame> frames{Frame{}};
  std::vector<StackNode> nodes{StackNode{}};
  std::vector<Thread> threads{Thread{}};
  std::vector<Entry> entries;  // no placeholder

  std::vector<Counter> intervals;  // by reason, all that were seen, kept or not
  std::vector<Counter> rejected;   // by cause: what was seen and not kept as an entry
  std::vector<Counter> notes;      // other counts worth knowing: hidden switches, late events, ...
  uint64_t lost_events = 0;
  uint64_t loss_spans_dropped = 0;  // spans beyond the number kept in `losses`
  std::vector<LossSpan> losses;
  std::vector<std::string> warnings;  // sentences for people

  std::string_view String(StringId id) const { return strings[id]; }
  bool operator==(const Profile&) const = default;
};

// Frames of a stack, root first; empty for node 0.
inline std::vector<FrameId> FramesOf(const Profile& profile, NodeId node) {
  std::vector<FrameId> frames;
  for (; node != 0; node = profile.nodes[node].parent) frames.push_back(profile.nodes[node].frame);
  return {frames.rbegin(), frames.rend()};
}

}  // namespace offcpu::profile
