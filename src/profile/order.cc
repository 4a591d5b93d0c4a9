// SPDX-License-Identifier: MIT
#include "profile/order.h"

#include <tuple>

namespace offcpu::profile {

namespace {

auto Numbers(const Thread& t) {
  return std::tie(t.last_ns, t.inner_pid, t.inner_tid, t.kernel_thread, t.merged_threads,
                  t.on_cpu_ns, t.sleeping_ns, t.runqueue_ns, t.unsplit_ns, t.runnable_ns,
                  t.preempted_ns, t.newborn_ns, t.unknown_ns, t.voluntary_switches,
                  t.involuntary_switches, t.switch_ins, t.samples);
}

}  // namespace

Order::Order(const Profile& profile) : profile_(profile), depths_(profile.nodes.size()) {
  for (NodeId node = 1; node < depths_.size(); ++node) {
    depths_[node] = depths_[profile.nodes[node].parent] + 1;
  }
}

std::strong_ordering Order::Strings(StringId a, StringId b) const {
  return a == b ? std::strong_ordering::equal : profile_.strings[a] <=> profile_.strings[b];
}

std::strong_ordering Order::Frames(FrameId a, FrameId b) const {
  const Frame& x = profile_.frames[a];
  const Frame& y = profile_.frames[b];
  if (auto order = Strings(x.name, y.name); std::is_neq(order)) return order;
  if (auto order = Strings(x.module, y.module); std::is_neq(order)) return order;
  return std::tie(x.kind, x.inlined) <=> std::tie(y.kind, y.inlined);
}

std::strong_ordering Order::Stacks(NodeId a, NodeId b) const {
  const std::vector<StackNode>& nodes = profile_.nodes;
  NodeId x = a;
  NodeId y = b;
  while (depths_[x] > depths_[y]) x = nodes[x].parent;
  while (depths_[y] > depths_[x]) y = nodes[y].parent;
  if (x == y) return depths_[a] <=> depths_[b];  // one is the beginning of the other
  while (nodes[x].parent != nodes[y].parent) {
    x = nodes[x].parent;
    y = nodes[y].parent;
  }
  return Frames(nodes[x].frame, nodes[y].frame);
}

std::strong_ordering Order::Threads(const Thread& a, const Thread& b) const {
  const auto place = [](const Thread& t) { return std::tie(t.first_ns, t.pid, t.tid); };
  if (auto order = place(a) <=> place(b); std::is_neq(order)) return order;
  if (auto order = Strings(a.comm, b.comm); std::is_neq(order)) return order;
  if (auto order = Strings(a.process, b.process); std::is_neq(order)) return order;
  return Numbers(a) <=> Numbers(b);
}

std::strong_ordering Order::Entries(const Entry& a, const Entry& b) const {
  if (auto order = Stacks(a.user_stack, b.user_stack); std::is_neq(order)) return order;
  if (auto order = Stacks(a.kernel_stack, b.kernel_stack); std::is_neq(order)) return order;
  const auto place = [](const Entry& e) { return std::tie(e.reason, e.task_state, e.thread); };
  if (auto order = place(a) <=> place(b); std::is_neq(order)) return order;
  if (auto order = Strings(a.comm, b.comm); std::is_neq(order)) return order;
  return Strings(a.process, b.process);
}

}  // namespace offcpu::profile
