// SPDX-License-Identifier: MIT
#include "source/bpf/module/kernel_btf.h"

#include <cstring>
#include <string_view>

namespace offcpu::bpf_module {
namespace {

const btf_type* Find(const btf* types, const char* name, uint32_t kind) {
  const int id = btf__find_by_name_kind(types, name, kind);
  return id < 0 ? nullptr : btf__type_by_id(types, static_cast<uint32_t>(id));
}

std::string_view NameAt(const btf* types, uint32_t offset) {
  const char* name = btf__name_by_offset(types, offset);
  return name == nullptr ? std::string_view() : name;
}

const btf_member* Member(const btf* types, const btf_type* type, std::string_view name) {
  if (type == nullptr) return nullptr;
  const btf_member* members = btf_members(type);
  for (uint32_t i = 0; i < btf_vlen(type); ++i) {
    if (NameAt(types, members[i].name_off) == name) return &members[i];
  }
  return nullptr;
}

// typedef void (*btf_trace_sched_switch)(void *, bool, struct task_struct *, ...): what a program
// of the kind tp_btf gets is what follows the first parameter.
int ArgumentsOf(const btf* types, const char* trace) {
  const btf_type* type = Find(types, trace, BTF_KIND_TYPEDEF);
  if (type != nullptr) type = btf__type_by_id(types, type->type);
  if (type != nullptr && btf_is_ptr(type)) type = btf__type_by_id(types, type->type);
  if (type == nullptr || !btf_is_func_proto(type) || btf_vlen(type) == 0) return 0;
  return btf_vlen(type) - 1;
}

// On PREEMPT_RT spinlock_t is a mutex; the ring's lock became a raw one in 6.12.
bool RingLockMaySleep(const btf* types) {
  const bool realtime = Member(types, Find(types, "spinlock", BTF_KIND_STRUCT), "lock") != nullptr;
  if (!realtime) return false;
  const btf_member* lock = Member(types, Find(types, "bpf_ringbuf", BTF_KIND_STRUCT), "spinlock");
  const btf_type* type = lock == nullptr ? nullptr : btf__type_by_id(types, lock->type);
  return type != nullptr && NameAt(types, type->name_off) == "spinlock_t";
}

}  // namespace

offcpu_bpf_kernel Inspect(const btf* types) {
  offcpu_bpf_kernel kernel{};
  kernel.switch_arguments = ArgumentsOf(types, "btf_trace_sched_switch");
  const btf_type* task = Find(types, "task_struct", BTF_KIND_STRUCT);
  kernel.has_renamed_state = Member(types, task, "__state") != nullptr ? 1 : 0;
  kernel.ring_lock_may_sleep = RingLockMaySleep(types) ? 1 : 0;
  return kernel;
}

}  // namespace offcpu::bpf_module
