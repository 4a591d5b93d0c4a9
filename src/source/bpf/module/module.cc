// SPDX-License-Identifier: MIT
// bpf.so: loads the program with libbpf. See source/bpf/module_api.h.
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "source/bpf/module/kernel_btf.h"
#include "source/bpf/module_api.h"

// Generated; uses the types of records.h.
#include <bpf/offcpu.skel.h>

struct offcpu_bpf {
  offcpu_bpf_skeleton* skeleton = nullptr;
  ring_buffer* ring = nullptr;
  bpf_link* sleepers = nullptr;
  std::vector<char> cpu_values;
  void (*take)(void*, const void*, size_t) = nullptr;
  void* context = nullptr;
};

namespace offcpu::bpf_module {
namespace {

// libbpf's last complaints, for the error's text. One recording at a time loads.
std::string complaints;

int KeepComplaint(libbpf_print_level level, const char* format, va_list arguments) {
  if (level != LIBBPF_WARN) return 0;
  char line[512];
  const int length = std::vsnprintf(line, sizeof(line), format, arguments);
  // That one is no error by itself, and is not what is wrong.
  const bool limit = std::strstr(line, "RLIMIT_MEMLOCK") != nullptr;
  if (length > 0 && !limit && complaints.size() < 400) complaints += line;
  return length;
}

void Fail(offcpu_bpf_error* error, const std::string& what, int number) {
  error->number = number < 0 ? -number : number;
  std::string text = what + ": " + std::strerror(error->number);
  std::string_view said = complaints;
  said = said.substr(0, said.find('\n'));
  if (!said.empty()) text += " (" + std::string(said) + ")";
  std::snprintf(error->text, sizeof(error->text), "%s", text.c_str());
}

int InspectRaw(const void* data, size_t size, offcpu_bpf_kernel* kernel, offcpu_bpf_error* error) {
  complaints.clear();
  btf* types = btf__new(data, static_cast<__u32>(size));
  if (types == nullptr) {
    Fail(error, "read kernel type information", errno);
    return -1;
  }
  *kernel = Inspect(types);
  btf__free(types);
  return 0;
}

bool InspectRunning(offcpu_bpf_kernel* kernel, offcpu_bpf_error* error) {
  btf* types = btf__load_vmlinux_btf();
  if (types == nullptr) {
    Fail(error, "read the running kernel's type information", ENOTSUP);
    return false;
  }
  *kernel = Inspect(types);
  btf__free(types);
  if (kernel->switch_arguments != 3 && kernel->switch_arguments != 4) {
    Fail(error,
         "read sched_switch's arguments from the kernel's type information: " +
             std::to_string(kernel->switch_arguments) + " instead of 3 or 4",
         ENOTSUP);
    return false;
  }
  if (kernel->ring_lock_may_sleep != 0) {
    Fail(error, "use a BPF ring in the scheduler: its lock sleeps on this real-time kernel",
         ENOTSUP);
    return false;
  }
  return true;
}

void Configure(offcpu_bpf_skeleton* skeleton, const offcpu_bpf_options& options,
               const offcpu_bpf_kernel& kernel) {
  const offcpu_bpf_settings& settings = options.settings;
  std::memcpy(&skeleton->rodata->settings, &settings, sizeof(settings));
  const bool with_state = kernel.switch_arguments == 4;
  bpf_program__set_autoload(skeleton->progs.switch_with_state, with_state);
  bpf_program__set_autoload(skeleton->progs.switch_without_state, !with_state);
  bpf_program__set_autoload(skeleton->progs.wakeup, settings.wakeups != 0);
  const bool by_id = settings.scope != OFFCPU_BPF_EVERYTHING;
  bpf_program__set_autoload(skeleton->progs.process_fork, by_id && settings.follow_children != 0);
  bpf_program__set_autoload(skeleton->progs.process_exit, by_id);
  bpf_program__set_autoload(skeleton->progs.sleepers, settings.kernel_stacks != 0);
  bpf_program__set_autoattach(skeleton->progs.sleepers, false);
  bpf_map__set_max_entries(skeleton->maps.threads, options.max_threads);
  if (settings.user_stacks != 0) {
    bpf_map__set_max_entries(skeleton->maps.user_stacks, options.max_threads);
  }
  bpf_map__set_max_entries(skeleton->maps.followed, options.max_followed);
  bpf_map__set_max_entries(skeleton->maps.ring, options.ring_bytes);
}

int TakeRecord(void* context, void* record, size_t size) {
  const auto* bpf = static_cast<offcpu_bpf*>(context);
  bpf->take(bpf->context, record, size);
  return 0;
}

void Detach(offcpu_bpf* bpf) {
  if (bpf->skeleton != nullptr) offcpu_bpf_skeleton__detach(bpf->skeleton);
}

void Close(offcpu_bpf* bpf) {
  if (bpf == nullptr) return;
  bpf_link__destroy(bpf->sleepers);
  ring_buffer__free(bpf->ring);
  offcpu_bpf_skeleton__destroy(bpf->skeleton);
  delete bpf;
}

offcpu_bpf* Open(const offcpu_bpf_options* options, offcpu_bpf_error* error) {
  libbpf_set_print(KeepComplaint);
  complaints.clear();
  offcpu_bpf_kernel kernel{};
  if (!InspectRunning(&kernel, error)) return nullptr;
  auto* bpf = new offcpu_bpf;
  bpf->skeleton = offcpu_bpf_skeleton__open();
  int failed = bpf->skeleton == nullptr ? errno : 0;
  if (failed == 0) {
    Configure(bpf->skeleton, *options, kernel);
    failed = offcpu_bpf_skeleton__load(bpf->skeleton);
  }
  if (failed == 0) {
    bpf->ring = ring_buffer__new(bpf_map__fd(bpf->skeleton->maps.ring), TakeRecord, bpf, nullptr);
    if (bpf->ring == nullptr) failed = errno;
  }
  if (failed != 0) {
    Fail(error, "load the BPF program", failed);
    Close(bpf);
    return nullptr;
  }
  const int cpus = libbpf_num_possible_cpus();
  bpf->cpu_values.resize(sizeof(offcpu_bpf_cpu) * static_cast<size_t>(cpus > 0 ? cpus : 0));
  return bpf;
}

int Follow(offcpu_bpf* bpf, __u32 id, offcpu_bpf_error* error) {
  complaints.clear();
  const __u8 value = 1;
  const int failed =
      bpf_map_update_elem(bpf_map__fd(bpf->skeleton->maps.followed), &id, &value, BPF_ANY);
  if (failed != 0) Fail(error, "follow " + std::to_string(id), failed);
  return failed == 0 ? 0 : -1;
}

int Attach(offcpu_bpf* bpf, offcpu_bpf_error* error) {
  complaints.clear();
  const int failed = offcpu_bpf_skeleton__attach(bpf->skeleton);
  if (failed != 0) Fail(error, "attach the BPF program", failed);
  return failed == 0 ? 0 : -1;
}

volatile __u64* WindowStart(offcpu_bpf* bpf) { return &bpf->skeleton->data->window_start; }
volatile __u64* WindowEnd(offcpu_bpf* bpf) { return &bpf->skeleton->data->window_end; }

int PollFd(offcpu_bpf* bpf) { return ring_buffer__epoll_fd(bpf->ring); }

void Consume(offcpu_bpf* bpf, void (*take)(void*, const void*, size_t), void* context) {
  bpf->take = take;
  bpf->context = context;
  ring_buffer__consume(bpf->ring);
}

void Threads(offcpu_bpf* bpf, void (*take)(void*, __u32, const offcpu_bpf_thread*), void* context) {
  const int map = bpf_map__fd(bpf->skeleton->maps.threads);
  __u32 tid = 0;
  const __u32* before = nullptr;
  auto thread = std::make_unique<offcpu_bpf_thread>();
  while (bpf_map_get_next_key(map, before, &tid) == 0) {
    if (bpf_map_lookup_elem(map, &tid, thread.get()) == 0) take(context, tid, thread.get());
    before = &tid;
  }
}

int UserStack(offcpu_bpf* bpf, __u32 tid, offcpu_bpf_stack* stack) {
  return bpf_map_lookup_elem(bpf_map__fd(bpf->skeleton->maps.user_stacks), &tid, stack) == 0 ? 0
                                                                                             : -1;
}

int Sleepers(offcpu_bpf* bpf, offcpu_bpf_error* error) {
  complaints.clear();
  bpf->sleepers = bpf_program__attach_iter(bpf->skeleton->progs.sleepers, nullptr);
  const int fd = bpf->sleepers == nullptr ? -1 : bpf_iter_create(bpf_link__fd(bpf->sleepers));
  if (fd < 0) Fail(error, "iterate over sleeping threads", errno);
  return fd;
}

int CpuCounters(offcpu_bpf* bpf, int cpu, offcpu_bpf_cpu* counters) {
  const size_t at = sizeof(*counters) * static_cast<size_t>(cpu);
  const __u32 zero = 0;
  if (cpu < 0 || at >= bpf->cpu_values.size()) return -1;
  if (bpf_map_lookup_elem(bpf_map__fd(bpf->skeleton->maps.cpus), &zero, bpf->cpu_values.data())) {
    return -1;
  }
  std::memcpy(counters, bpf->cpu_values.data() + at, sizeof(*counters));
  return 0;
}

__u64 Missed(offcpu_bpf* bpf) {
  __u64 missed = 0;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, bpf->skeleton->obj) {
    bpf_prog_info info{};
    __u32 size = sizeof(info);
    const int fd = bpf_program__fd(program);
    if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0) missed += info.recursion_misses;
  }
  return missed;
}

}  // namespace
}  // namespace offcpu::bpf_module

extern "C" __attribute__((visibility("default"))) const offcpu_bpf_functions offcpu_bpf_module;
const offcpu_bpf_functions offcpu_bpf_module = {
    .version = OFFCPU_BPF_API_VERSION,
    .inspect = offcpu::bpf_module::InspectRaw,
    .open = offcpu::bpf_module::Open,
    .follow = offcpu::bpf_module::Follow,
    .attach = offcpu::bpf_module::Attach,
    .window_start = offcpu::bpf_module::WindowStart,
    .window_end = offcpu::bpf_module::WindowEnd,
    .poll_fd = offcpu::bpf_module::PollFd,
    .consume = offcpu::bpf_module::Consume,
    .threads = offcpu::bpf_module::Threads,
    .user_stack = offcpu::bpf_module::UserStack,
    .sleepers = offcpu::bpf_module::Sleepers,
    .cpu = offcpu::bpf_module::CpuCounters,
    .missed = offcpu::bpf_module::Missed,
    .detach = offcpu::bpf_module::Detach,
    .close = offcpu::bpf_module::Close,
};
