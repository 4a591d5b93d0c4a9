// SPDX-License-Identifier: MIT
#pragma once

// The parts of kernel types that the BPF program reads, by name only: libbpf looks up where each
// field really lies in the running kernel's BTF (CO-RE), and which of two names a field has. A
// field that the kernel lacks refuses to load instead of reading something else.

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
  int counter;
} atomic_t;

struct signal_struct {
  atomic_t live;  // threads that have not begun to exit
};

struct sched_entity {
  __u64 exec_start;
};

struct task_struct {
  unsigned int flags;
  int exit_state;
  int pid;
  int tgid;
  unsigned long nvcsw;
  unsigned long nivcsw;
  struct sched_entity se;
  struct signal_struct *signal;
  char comm[16];
};

// The state's field was renamed in 5.14, and distributions carried that back (RHEL 8 to 4.18).
struct task_struct___renamed {
  unsigned int __state;
};
struct task_struct___before_5_14 {
  volatile long state;
};

struct bpf_iter_meta {
  struct seq_file *seq;
};
struct bpf_iter__task {
  struct bpf_iter_meta *meta;
  struct task_struct *task;
};

#pragma clang attribute pop

// From include/linux/sched.h of 4.14 to 6.18; macros, which BTF does not have.
enum {
  OFFCPU_TASK_UNINTERRUPTIBLE = 0x0002,
  OFFCPU_TASK_REPORT = 0x007f,  // states and exit states that have a letter
  OFFCPU_TASK_DEAD = 0x0080,
  OFFCPU_TASK_REPORT_IDLE = 0x0080,
  OFFCPU_TASK_NOLOAD = 0x0400,
  OFFCPU_TASK_IDLE = OFFCPU_TASK_UNINTERRUPTIBLE | OFFCPU_TASK_NOLOAD,
  OFFCPU_TASK_RTLOCK_WAIT = 0x1000,  // since 5.15; nothing had this bit before
  OFFCPU_TASK_FROZEN = 0x8000,       // since 6.1; same
  OFFCPU_PF_KTHREAD = 0x00200000,
};
