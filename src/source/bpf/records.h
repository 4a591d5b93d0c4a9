// SPDX-License-Identifier: MIT
#pragma once

#include <linux/types.h>

// What the BPF program, the module that loads it and the back end share: plain C, the same layout
// for all three. Times are CLOCK_MONOTONIC in nanoseconds; task states are bits of model::TaskState
// (which are those that sched_switch reports since 4.14).

enum {
  OFFCPU_BPF_MAX_FRAMES = 127,  // of one stack
  OFFCPU_BPF_STATES = 10,       // running, the eight bits that have a letter, preempted
};

#define OFFCPU_BPF_NO_LIMIT (~0ULL)

// Positions in tables by reason: model::Reason - 1.
enum offcpu_bpf_reason {
  OFFCPU_BPF_BLOCKED,
  OFFCPU_BPF_RUNNABLE,
  OFFCPU_BPF_PREEMPTED,
  OFFCPU_BPF_REASONS,
};

// Why an interval is not kept; in the order of the rules (record::IntervalKeeper).
enum offcpu_bpf_cause {
  OFFCPU_BPF_REASON,
  OFFCPU_BPF_MINIMUM,
  OFFCPU_BPF_MAXIMUM,
  OFFCPU_BPF_STATE,
  OFFCPU_BPF_CAUSES,
  OFFCPU_BPF_KEPT = OFFCPU_BPF_CAUSES,
};

// Whom the program follows.
enum offcpu_bpf_scope {
  OFFCPU_BPF_EVERYTHING,
  OFFCPU_BPF_PROCESSES,
  OFFCPU_BPF_THREADS,
};

// Read-only to the program, so that what is not wanted costs nothing.
struct offcpu_bpf_settings {
  __u64 min_off_cpu;  // kept: longer than this, or OFFCPU_BPF_NO_LIMIT
  __u64 max_off_cpu;  // kept: shorter than this, or OFFCPU_BPF_NO_LIMIT
  __u32 scope;
  __u32 self;     // the recorder's process
  __u32 command;  // the process whose exec opens the window; 0: none
  __u32 reasons;  // a bit for each kept offcpu_bpf_reason
  __u32 states;   // a bit for each kept state: offcpu_bpf_state_index()
  __u8 kernel_stacks;
  __u8 user_stacks;
  __u8 wakeups;
  __u8 follow_children;
};

// Position of a state in offcpu_bpf_settings::states. `state` has one bit of 0xff or none.
static inline __u32 offcpu_bpf_state_index(__u32 state, int preempted) {
  __u32 index = 0;
  if (preempted) return OFFCPU_BPF_STATES - 1;
  if (state & 0xf0) index += 4;
  if (state & 0xcc) index += 2;
  if (state & 0xaa) index += 1;
  return state == 0 ? 0 : index + 1;
}

// The rule that an interval breaks, if any. Volatile: the program is loaded with other settings
// than it is compiled with.
static inline __u32 offcpu_bpf_judge(const volatile struct offcpu_bpf_settings *settings,
                                     __u32 reason, __u32 state_index, __u64 duration) {
  if (!(settings->reasons & (1U << reason))) return OFFCPU_BPF_REASON;
  if (duration <= settings->min_off_cpu && settings->min_off_cpu != OFFCPU_BPF_NO_LIMIT)
    return OFFCPU_BPF_MINIMUM;
  if (duration >= settings->max_off_cpu && settings->max_off_cpu != OFFCPU_BPF_NO_LIMIT)
    return OFFCPU_BPF_MAXIMUM;
  if (!(settings->states & (1U << state_index))) return OFFCPU_BPF_STATE;
  return OFFCPU_BPF_KEPT;
}

struct offcpu_bpf_sum {
  __u64 count;
  __u64 ns;
};

// Of one thread, since the program saw it first.
struct offcpu_bpf_account {
  __u64 on_cpu;
  __u64 sleeping;
  __u64 runqueue;
  __u64 unsplit;
  __u64 runnable;
  __u64 preempted;
  __u64 unknown;
  __u64 voluntary_switches;
  __u64 involuntary_switches;
  __u64 switch_ins;
  struct offcpu_bpf_sum hidden;  // intervals whose end was hidden (KF 0); same
  struct offcpu_bpf_sum lost;    // intervals that found no room in the ring; their time is unknown
  struct offcpu_bpf_sum rejected[OFFCPU_BPF_REASONS][OFFCPU_BPF_CAUSES];
};

enum offcpu_bpf_thread_state {
  OFFCPU_BPF_WOKEN,  // before the first switch
  OFFCPU_BPF_RUNNING,
  OFFCPU_BPF_OFF,
  OFFCPU_BPF_HIDDEN,  // left the CPU unseen
  OFFCPU_BPF_ENDED,   // its last record found no room
};

// A followed thread: value of the map `threads`, by tid.
struct offcpu_bpf_thread {
  __u64 first;  // when it was seen first
  __u64 since;  // of the state; when it ended
  __u64 wakeup;
  __u64 task;      // its task_struct's address: the same where its id is another
  __u64 switches;  // the kernel's counts of its switch-outs, at the last one
  __u32 pid;
  __u32 state;
  __u32 task_state;
  __u32 reason;
  __u32 user_bytes;  // of its stack in the map `user_stacks`
  __u32 cpu;
  char comm[16];
  struct offcpu_bpf_account account;
};

struct offcpu_bpf_stack {
  __u64 addresses[OFFCPU_BPF_MAX_FRAMES];
};

// A CPU: value of the map `cpus`.
struct offcpu_bpf_cpu {
  __u64 switches;
  __u64 outside_wakeups;
  __u64 lost;        // records that found no room in the ring
  __u64 untracked;   // threads that found no room in the map
  __u64 hidden;      // breaks: who leaves is not who came last
  __s64 exec_start;  // CLOCK_MONOTONIC minus the clock of se.exec_start; 0: not known
  __u32 running;     // the thread switched to last
  __u32 seen;        // any switch yet
};

enum offcpu_bpf_record_type {
  OFFCPU_BPF_SEEN,      // the program tracks a thread from here on
  OFFCPU_BPF_INTERVAL,  // one that is kept
  OFFCPU_BPF_END,       // a thread's last switch-out
  OFFCPU_BPF_TAKEOVER,  // a thread's last moment under this id: it has become its process's leader
};

struct offcpu_bpf_head {
  __u32 type;
  __u32 pid;
  __u32 tid;
  __u32 padding;
  __u64 time;
};

// What a thread did up to its first switch.
enum offcpu_bpf_before {
  OFFCPU_BPF_WAS_OFF,
  OFFCPU_BPF_RAN,
  OFFCPU_BPF_CAME_HIDDEN,
};

struct offcpu_bpf_seen {
  struct offcpu_bpf_head head;
  __u64 wakeup;  // before; 0: none
  __u8 before;   // offcpu_bpf_before
  __u8 fresh;    // a new thread (TAKEOVER's leader)
  __u8 padding[6];
};

// Ends at head.time.
struct offcpu_bpf_interval {
  struct offcpu_bpf_head head;
  __u64 start;
  __u64 wakeup;
  __u32 reason;
  __u32 task_state;
  char comm[16];
  __u32 kernel_frames;
  __u32 user_frames;
  __u64 addresses[2 * OFFCPU_BPF_MAX_FRAMES];  // kernel's, user's; leaf first; only those
};

struct offcpu_bpf_end {
  struct offcpu_bpf_head head;
  __u64 first;
  struct offcpu_bpf_account account;
};

// From the task iterator: where a thread is that has not run since its last switch-out.
struct offcpu_bpf_sleeper {
  __u32 tid;
  __u32 kernel_frames;
  __u64 addresses[OFFCPU_BPF_MAX_FRAMES];
};
