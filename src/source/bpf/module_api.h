// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>

#include "source/bpf/records.h"

// What bpf.so, the one part that links libbpf, offers to the program. Plain C, so that nothing but
// this header has to agree; the version is raised with every change of it or of records.h.

enum { OFFCPU_BPF_API_VERSION = 1 };

struct offcpu_bpf;  // a loaded program

struct offcpu_bpf_options {
  struct offcpu_bpf_settings settings;
  __u32 max_threads;   // entries of the maps by tid
  __u32 max_followed;  // entries of `followed`
  __u32 ring_bytes;    // a power of two, at least a page
};

// Why something did not work.
struct offcpu_bpf_error {
  int number;  // an errno
  char text[1000];
};

// What the kernel's type information tells.
struct offcpu_bpf_kernel {
  int switch_arguments;     // of sched_switch: 3, since 5.18 4; 0: not found
  int has_renamed_state;    // task_struct has __state and not state
  int ring_lock_may_sleep;  // PREEMPT_RT before 6.12: not to be used in the scheduler
};

struct offcpu_bpf_functions {
  int version;
  // From raw BTF, as in /sys/kernel/btf/vmlinux. 0, or -1 with `error`.
  int (*inspect)(const void *btf, size_t size, struct offcpu_bpf_kernel *kernel,
                 struct offcpu_bpf_error *error);
  // Loads the program; it is not attached. NULL with `error`.
  struct offcpu_bpf *(*open)(const struct offcpu_bpf_options *options,
                             struct offcpu_bpf_error *error);
  int (*follow)(struct offcpu_bpf *bpf, __u32 id, struct offcpu_bpf_error *error);
  int (*attach)(struct offcpu_bpf *bpf, struct offcpu_bpf_error *error);
  // Events at and after *window_start() and before *window_end() are looked at.
  volatile __u64 *(*window_start)(struct offcpu_bpf *bpf);
  volatile __u64 *(*window_end)(struct offcpu_bpf *bpf);
  int (*poll_fd)(struct offcpu_bpf *bpf);
  // Calls `take` for each record in the ring, which begins with an offcpu_bpf_head if it is whole.
  void (*consume)(struct offcpu_bpf *bpf, void (*take)(void *context, const void *record, size_t),
                  void *context);
  // Calls `take` for each thread that is in the map, in no order.
  void (*threads)(struct offcpu_bpf *bpf,
                  void (*take)(void *context, __u32 tid, const struct offcpu_bpf_thread *),
                  void *context);
  // The thread's user stack, if it has one. 0, or -1.
  int (*user_stack)(struct offcpu_bpf *bpf, __u32 tid, struct offcpu_bpf_stack *stack);
  // A descriptor from which offcpu_bpf_sleeper comes for each thread that is off; -1 with `error`.
  int (*sleepers)(struct offcpu_bpf *bpf, struct offcpu_bpf_error *error);
  // Counters of CPU `cpu`. 0, or -1 when there is no such CPU.
  int (*cpu)(struct offcpu_bpf *bpf, int cpu, struct offcpu_bpf_cpu *counters);
  // Events that the kernel kept from the program, because it was running already.
  __u64 (*missed)(struct offcpu_bpf *bpf);
  void (*detach)(struct offcpu_bpf *bpf);
  void (*close)(struct offcpu_bpf *bpf);
};

// The one symbol of the module.
#define OFFCPU_BPF_SYMBOL "offcpu_bpf_module"
