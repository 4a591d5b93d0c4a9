// SPDX-License-Identifier: MIT
// The tracker in the kernel: what sched::Tracker does with a thread after its first event, so that
// only intervals which are kept come to user space. A thread's entry is written by one CPU at a
// time: the one that switches it, or the waker of one that is off. Entries are made and deleted
// here alone. Nothing is attached but tracepoints (F12), whose arguments are read by BTF (H8).
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "kernel-compat/bpf_types.h"
#include "source/bpf/records.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

const volatile struct offcpu_bpf_settings settings = {};

// The recording's window. User space moves both while the program runs.
volatile __u64 window_start = ~0ULL;
volatile __u64 window_end = ~0ULL;

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct offcpu_bpf_thread);
} threads SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct offcpu_bpf_stack);
} user_stacks SEC(".maps");

// Ids of processes, or of threads, whose threads are followed.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, __u8);
} followed SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct offcpu_bpf_cpu);
} cpus SEC(".maps");

// What 512 bytes of stack do not hold. Switches and wake-ups, which come with interrupts off, have
// one; what such an event may interrupt has the other.
enum slot { ATOMIC, PROCESS, SLOTS };
union scratch {
  struct offcpu_bpf_interval interval;
  struct offcpu_bpf_end end;
  struct offcpu_bpf_thread thread;
  struct offcpu_bpf_stack stack;
  struct offcpu_bpf_sleeper sleeper;
};
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, SLOTS);
  __type(key, __u32);
  __type(value, union scratch);
} scratches SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 4096);
} ring SEC(".maps");

static __always_inline struct offcpu_bpf_cpu *this_cpu(void) {
  __u32 zero = 0;
  return bpf_map_lookup_elem(&cpus, &zero);
}

static __always_inline union scratch *this_scratch(__u32 slot) {
  return bpf_map_lookup_elem(&scratches, &slot);
}

static __always_inline void count(__u64 *counter) { __sync_fetch_and_add(counter, 1); }

// The reader looks ten times a second; it is woken before only when a quarter is full.
static __always_inline int put(struct offcpu_bpf_cpu *cpu, void *record, __u64 size) {
  const __u64 used = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
  const __u64 whole = bpf_ringbuf_query(&ring, BPF_RB_RING_SIZE);
  const __u64 flags = used > whole / 4 ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
  if (bpf_ringbuf_output(&ring, record, size, flags) == 0) return 1;
  count(&cpu->lost);
  return 0;
}

// ---- who is followed ----------------------------------------------------------------------------

static __always_inline int is_followed(struct task_struct *task) {
  __u32 key = settings.scope == OFFCPU_BPF_THREADS ? task->pid : task->tgid;
  if (settings.scope == OFFCPU_BPF_EVERYTHING) return (__u32)task->tgid != settings.self;
  return bpf_map_lookup_elem(&followed, &key) != 0;
}

// A new entry, in state WOKEN.
static __noinline struct offcpu_bpf_thread *add_thread(struct task_struct *task, __u64 now,
                                                       enum slot slot) {
  struct offcpu_bpf_cpu *cpu = this_cpu();
  union scratch *scratch = this_scratch(slot);
  __u32 tid = task->pid;
  if (!cpu || !scratch) return 0;
  if (settings.user_stacks && !(task->flags & OFFCPU_PF_KTHREAD)) {
    // What it holds is not read before it is written.
    if (bpf_map_update_elem(&user_stacks, &tid, &scratch->stack, BPF_ANY) != 0) goto full;
  }
  __builtin_memset(&scratch->thread, 0, sizeof(scratch->thread));
  scratch->thread.first = now;
  scratch->thread.since = now;
  scratch->thread.pid = task->tgid;
  scratch->thread.task = (__u64)task;
  if (bpf_map_update_elem(&threads, &tid, &scratch->thread, BPF_ANY) == 0)
    return bpf_map_lookup_elem(&threads, &tid);
full:
  count(&cpu->untracked);
  return 0;
}

static __noinline void remove_thread(__u32 tid) {
  if (settings.user_stacks) bpf_map_delete_elem(&user_stacks, &tid);
  bpf_map_delete_elem(&threads, &tid);
}

// The thread's first switch in the window: user space stops tracking it. If the record finds no
// room, the account tells later.
static __always_inline void begin(struct offcpu_bpf_cpu *cpu, struct offcpu_bpf_thread *thread,
                                  __u32 tid, __u64 now, int before, int fresh) {
  struct offcpu_bpf_seen seen = {
      .head = {.type = OFFCPU_BPF_SEEN, .pid = thread->pid, .tid = tid, .time = now},
      .wakeup = thread->wakeup,
      .before = before,
      .fresh = fresh,
  };
  thread->first = now;
  thread->since = now;
  thread->wakeup = 0;
  thread->state = OFFCPU_BPF_RUNNING;
  thread->cpu = bpf_get_smp_processor_id();
  put(cpu, &seen, sizeof(seen));
}

// The thread's entry; a new one at the first event of a followed thread.
static __always_inline struct offcpu_bpf_thread *find(struct offcpu_bpf_cpu *cpu,
                                                      struct task_struct *task, __u64 now,
                                                      int before, enum slot slot) {
  __u32 tid = task->pid;
  struct offcpu_bpf_thread *thread = bpf_map_lookup_elem(&threads, &tid);
  if (thread && thread->state != OFFCPU_BPF_WOKEN && thread->state != OFFCPU_BPF_ENDED)
    return thread;
  if (!thread || thread->state == OFFCPU_BPF_ENDED) {
    if (!is_followed(task)) return 0;
    thread = add_thread(task, now, slot);
    if (!thread) return 0;
  }
  begin(cpu, thread, tid, now, before, 0);
  return thread;
}

static __noinline void end_thread(struct offcpu_bpf_thread *thread, __u32 tid, __u64 now,
                                  __u32 type, enum slot slot) {
  struct offcpu_bpf_cpu *cpu = this_cpu();
  union scratch *scratch = this_scratch(slot);
  if (!scratch || !cpu || !thread) return;
  struct offcpu_bpf_head head = {.type = type, .pid = thread->pid, .tid = tid, .time = now};
  scratch->end.head = head;
  scratch->end.first = thread->first;
  scratch->end.account = thread->account;
  if (put(cpu, &scratch->end, sizeof(scratch->end))) {
    remove_thread(tid);
  } else {
    thread->since = now;
    thread->state = OFFCPU_BPF_ENDED;
  }
}

// Time of which the beginning or the end was hidden.
static __always_inline void end_hidden(struct offcpu_bpf_thread *thread, __u64 now) {
  const __u64 duration = now - thread->since;
  thread->account.unknown += duration;
  if (thread->state != OFFCPU_BPF_OFF) return;
  ++thread->account.hidden.count;
  thread->account.hidden.ns += duration;
}

// There are kernels that hide some threads' switches from tracepoints (KF 0): who came last has
// left since, unseen.
static __always_inline void leave_hidden(struct offcpu_bpf_cpu *cpu) {
  __u32 tid = cpu->running;
  struct offcpu_bpf_thread *thread = bpf_map_lookup_elem(&threads, &tid);
  if (thread && thread->state == OFFCPU_BPF_RUNNING && thread->cpu == bpf_get_smp_processor_id())
    thread->state = OFFCPU_BPF_HIDDEN;
}

// A thread other than the leader that calls execve gets its leader's id while it runs: then who
// was switched to is not who runs.
static __always_inline void follow_takeover(struct offcpu_bpf_cpu *cpu, struct task_struct *task,
                                            __u64 now, enum slot slot) {
  __u32 old = cpu->running;
  if (old == 0 || old == (__u32)task->pid || old == ~0U) return;
  struct offcpu_bpf_thread *thread = bpf_map_lookup_elem(&threads, &old);
  if (!thread || thread->state != OFFCPU_BPF_RUNNING || thread->task != (__u64)task) return;
  cpu->running = task->pid;
  struct offcpu_bpf_thread *leader = add_thread(task, now, slot);
  if (leader) begin(cpu, leader, task->pid, now, OFFCPU_BPF_RAN, 1);
  thread->account.on_cpu += now - thread->since;
  end_thread(thread, old, now, OFFCPU_BPF_TAKEOVER, slot);
}

// ---- switches -----------------------------------------------------------------------------------

// sched_switch's own conversion of the state (__trace_sched_switch_state of 4.14 to 6.18), which
// its BPF arguments don't have behind them (B8). Preempted threads are told apart by the caller.
static __always_inline __u32 reported_state(struct task_struct *task, __u32 state) {
  __u32 bits = (state | (__u32)task->exit_state) & OFFCPU_TASK_REPORT;
  if ((state & OFFCPU_TASK_IDLE) == OFFCPU_TASK_IDLE) bits = OFFCPU_TASK_REPORT_IDLE;
  if (state & (OFFCPU_TASK_RTLOCK_WAIT | OFFCPU_TASK_FROZEN)) bits = OFFCPU_TASK_UNINTERRUPTIBLE;
  // The highest bit alone.
  bits |= bits >> 1;
  bits |= bits >> 2;
  bits |= bits >> 4;
  return bits ^ (bits >> 1);
}

static __always_inline void take_user_stack(void *ctx, struct offcpu_bpf_thread *thread,
                                            __u32 tid) {
  thread->user_bytes = 0;
  struct offcpu_bpf_stack *stack = bpf_map_lookup_elem(&user_stacks, &tid);
  if (!stack) return;  // a kernel thread
  long bytes = bpf_get_stack(ctx, stack, sizeof(*stack), BPF_F_USER_STACK);
  if (bytes > 0) thread->user_bytes = bytes;
}

static __always_inline void switch_out(void *ctx, struct offcpu_bpf_cpu *cpu, __u64 now,
                                       struct task_struct *task, int preempt, __u32 state,
                                       int hidden) {
  __u32 tid = task->pid;
  if (tid == 0) return;
  struct offcpu_bpf_thread *thread =
      find(cpu, task, now, hidden ? OFFCPU_BPF_CAME_HIDDEN : OFFCPU_BPF_RAN, ATOMIC);
  if (!thread) return;
  if (thread->state == OFFCPU_BPF_RUNNING && thread->cpu == bpf_get_smp_processor_id()) {
    thread->account.on_cpu += now - thread->since;
  } else {
    end_hidden(thread, now);
  }
  const __u32 reported = preempt ? 0 : reported_state(task, state);
  const __u32 reason =
      preempt ? OFFCPU_BPF_PREEMPTED : (reported ? OFFCPU_BPF_BLOCKED : OFFCPU_BPF_RUNNABLE);
  if (reason == OFFCPU_BPF_BLOCKED) {
    ++thread->account.voluntary_switches;
  } else {
    ++thread->account.involuntary_switches;
  }
  if (!preempt && (state & OFFCPU_TASK_DEAD)) {
    end_thread(thread, tid, now, OFFCPU_BPF_END, ATOMIC);
    return;
  }
  thread->since = now;
  thread->wakeup = 0;
  thread->state = OFFCPU_BPF_OFF;
  thread->task_state = reported;
  thread->reason = reason;
  thread->switches = task->nvcsw + task->nivcsw;
  bpf_probe_read_kernel(thread->comm, sizeof(thread->comm), task->comm);
  if (settings.user_stacks && (settings.reasons & (1U << reason)) &&
      (settings.states & (1U << offcpu_bpf_state_index(reported, preempt)))) {
    take_user_stack(ctx, thread, tid);
  }
}

static __always_inline int put_interval(struct offcpu_bpf_cpu *cpu,
                                        struct offcpu_bpf_thread *thread, struct task_struct *task,
                                        __u64 now) {
  union scratch *scratch = this_scratch(ATOMIC);
  if (!scratch) return 0;
  struct offcpu_bpf_interval *record = &scratch->interval;
  __u32 tid = task->pid;
  __u64 kernel_frames = 0;
  __u64 user_frames = 0;
  if (settings.kernel_stacks) {
    long bytes =
        bpf_get_task_stack(task, record->addresses, OFFCPU_BPF_MAX_FRAMES * sizeof(__u64), 0);
    if (bytes > 0) kernel_frames = ((__u64)bytes / sizeof(__u64)) & OFFCPU_BPF_MAX_FRAMES;
  }
  if (settings.user_stacks && thread->user_bytes != 0) {
    struct offcpu_bpf_stack *stack = bpf_map_lookup_elem(&user_stacks, &tid);
    user_frames = (thread->user_bytes / sizeof(__u64)) & OFFCPU_BPF_MAX_FRAMES;
    if (!stack || bpf_probe_read_kernel(&record->addresses[kernel_frames],
                                        user_frames * sizeof(__u64), stack) != 0)
      user_frames = 0;
  }
  struct offcpu_bpf_head head = {
      .type = OFFCPU_BPF_INTERVAL, .pid = thread->pid, .tid = tid, .time = now};
  record->head = head;
  record->start = thread->since;
  record->wakeup = thread->wakeup;
  record->reason = thread->reason;
  record->task_state = thread->task_state;
  __builtin_memcpy(record->comm, thread->comm, sizeof(record->comm));
  record->kernel_frames = kernel_frames;
  record->user_frames = user_frames;
  return put(cpu, record,
             __builtin_offsetof(struct offcpu_bpf_interval, addresses) +
                 (kernel_frames + user_frames) * sizeof(__u64));
}

static __always_inline void end_interval(struct offcpu_bpf_cpu *cpu,
                                         struct offcpu_bpf_thread *thread, struct task_struct *task,
                                         __u64 now) {
  struct offcpu_bpf_account *account = &thread->account;
  const __u64 duration = now - thread->since;
  const __u32 reason = thread->reason;
  const __u32 state = offcpu_bpf_state_index(thread->task_state, reason == OFFCPU_BPF_PREEMPTED);
  const __u32 cause = offcpu_bpf_judge(&settings, reason, state, duration);
  if (cause < OFFCPU_BPF_CAUSES && reason < OFFCPU_BPF_REASONS) {
    struct offcpu_bpf_sum *sum = &account->rejected[reason][cause];
    ++sum->count;
    sum->ns += duration;
  } else if (!put_interval(cpu, thread, task, now)) {
    ++account->lost.count;
    account->lost.ns += duration;
    account->unknown += duration;
    return;
  }
  if (reason == OFFCPU_BPF_RUNNABLE) {
    account->runnable += duration;
  } else if (reason == OFFCPU_BPF_PREEMPTED) {
    account->preempted += duration;
  } else if (thread->wakeup == 0) {
    account->unsplit += duration;
  } else {
    account->sleeping += thread->wakeup - thread->since;
    account->runqueue += now - thread->wakeup;
  }
}

static __always_inline void switch_in(struct offcpu_bpf_cpu *cpu, __u64 now,
                                      struct task_struct *task) {
  cpu->running = task->pid;
  if (task->pid == 0) return;
  struct offcpu_bpf_thread *thread = find(cpu, task, now, OFFCPU_BPF_WAS_OFF, ATOMIC);
  if (!thread) return;
  ++thread->account.switch_ins;
  if (thread->state == OFFCPU_BPF_OFF) {
    end_interval(cpu, thread, task, now);
  } else {  // just begun, or its switch-out was hidden
    end_hidden(thread, now);
  }
  thread->state = OFFCPU_BPF_RUNNING;
  thread->cpu = bpf_get_smp_processor_id();
  thread->since = now;
  thread->wakeup = 0;
}

static __always_inline int on_switch(void *ctx, int preempt, struct task_struct *prev,
                                     struct task_struct *next, __u32 state) {
  const __u64 now = bpf_ktime_get_ns();
  if (now < window_start || now >= window_end) return 0;
  struct offcpu_bpf_cpu *cpu = this_cpu();
  if (!cpu) return 0;
  ++cpu->switches;
  if (cpu->exec_start == 0 && prev->pid != 0) cpu->exec_start = now - prev->se.exec_start;
  follow_takeover(cpu, prev, now, ATOMIC);
  const int hidden = cpu->seen && cpu->running != (__u32)prev->pid;
  cpu->seen = 1;
  if (hidden) {
    ++cpu->hidden;
    leave_hidden(cpu);
  }
  switch_out(ctx, cpu, now, prev, preempt, state, hidden);
  switch_in(cpu, now, next);
  return 0;
}

// Since 5.18 the state comes as an argument, taken before a wake-up could change it.
SEC("tp_btf/sched_switch")
int BPF_PROG(switch_with_state, _Bool preempt, struct task_struct *prev, struct task_struct *next,
             unsigned int prev_state) {
  return on_switch(ctx, preempt, prev, next, prev_state);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switch_without_state, _Bool preempt, struct task_struct *prev,
             struct task_struct *next) {
  __u32 state = 0;
  if (bpf_core_field_exists(struct task_struct___renamed, __state)) {
    state = BPF_CORE_READ((struct task_struct___renamed *)prev, __state);
  } else {
    state = BPF_CORE_READ((struct task_struct___before_5_14 *)prev, state);
  }
  return on_switch(ctx, preempt, prev, next, state);
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(wakeup, struct task_struct *task) {
  const __u64 now = bpf_ktime_get_ns();
  if (now < window_start || now >= window_end) return 0;
  __u32 tid = task->pid;
  struct offcpu_bpf_thread *thread = bpf_map_lookup_elem(&threads, &tid);
  if (!thread && is_followed(task)) thread = add_thread(task, now, ATOMIC);
  if (!thread) return 0;
  const int waits = thread->state == OFFCPU_BPF_WOKEN ||
                    (thread->state == OFFCPU_BPF_OFF && thread->reason == OFFCPU_BPF_BLOCKED);
  if (waits && now >= thread->since) {
    if (thread->wakeup == 0) thread->wakeup = now;
    return 0;
  }
  struct offcpu_bpf_cpu *cpu = this_cpu();
  if (cpu) count(&cpu->outside_wakeups);
  return 0;
}

// ---- processes ----------------------------------------------------------------------------------

SEC("tp_btf/sched_process_fork")
int BPF_PROG(process_fork, struct task_struct *parent, struct task_struct *child) {
  __u32 id = child->pid;
  __u8 value = 1;
  if (child->tgid != parent->tgid && is_followed(parent))
    bpf_map_update_elem(&followed, &id, &value, BPF_ANY);
  return 0;
}

// Ids are free for others now. Whoever has not been seen yet is, so that its last switches are.
SEC("tp_btf/sched_process_exit")
int BPF_PROG(process_exit, struct task_struct *task) {
  const __u64 now = bpf_ktime_get_ns();
  __u32 key = settings.scope == OFFCPU_BPF_THREADS ? task->pid : task->tgid;
  if (!is_followed(task)) return 0;
  struct offcpu_bpf_cpu *cpu = this_cpu();
  if (cpu && now >= window_start && now < window_end) {
    follow_takeover(cpu, task, now, PROCESS);
    find(cpu, task, now, OFFCPU_BPF_RAN, PROCESS);
  }
  if (settings.scope == OFFCPU_BPF_THREADS || BPF_CORE_READ(task, signal, live.counter) <= 0)
    bpf_map_delete_elem(&followed, &key);
  return 0;
}

// Comes with execve, at the point where perf's record of it is written and all other threads have
// gone; else with prctl and the like.
SEC("tp_btf/task_rename")
int BPF_PROG(rename, struct task_struct *task, const char *comm) {
  const __u64 now = bpf_ktime_get_ns();
  struct offcpu_bpf_cpu *cpu = this_cpu();
  if (!cpu || now >= window_end || task != (struct task_struct *)bpf_get_current_task_btf())
    return 0;
  if (settings.command != 0 && (__u32)task->tgid == settings.command && window_start == ~0ULL) {
    __u32 id = task->tgid;
    __u8 value = 1;
    bpf_map_update_elem(&followed, &id, &value, BPF_ANY);
    window_start = now;
    find(cpu, task, now, OFFCPU_BPF_RAN, PROCESS);
    cpu->running = task->pid;
    return 0;
  }
  if (now >= window_start) follow_takeover(cpu, task, now, PROCESS);
  return 0;
}

// ---- the end ------------------------------------------------------------------------------------

// Kernel stacks of threads that are off at the end of the window and have not been on since.
SEC("iter/task")
int sleepers(struct bpf_iter__task *ctx) {
  struct task_struct *task = ctx->task;
  if (!task) return 0;
  __u32 tid = task->pid;
  struct offcpu_bpf_thread *thread = bpf_map_lookup_elem(&threads, &tid);
  union scratch *scratch = this_scratch(PROCESS);
  if (!thread || !scratch || thread->state != OFFCPU_BPF_OFF) return 0;
  if (thread->switches != task->nvcsw + task->nivcsw) return 0;
  struct offcpu_bpf_sleeper *sleeper = &scratch->sleeper;
  long bytes = bpf_get_task_stack(task, sleeper->addresses, sizeof(sleeper->addresses), 0);
  if (bytes <= 0 || thread->switches != task->nvcsw + task->nivcsw) return 0;
  sleeper->tid = tid;
  sleeper->kernel_frames = bytes / sizeof(__u64);
  bpf_seq_write(ctx->meta->seq, sleeper, sizeof(*sleeper));
  return 0;
}
