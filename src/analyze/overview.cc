// SPDX-License-Identifier: MIT
#include "analyze/overview.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "analyze/frame_text.h"

namespace offcpu::analyze {
namespace {

constexpr std::string_view kTruncatedStack = "[truncated stack]";  // the symbolizer's marker

// Length of the union of the spans.
Nanos Covered(const std::vector<profile::LossSpan>& losses) {
  std::vector<std::pair<Nanos, Nanos>> spans;
  spans.reserve(losses.size());
  for (const profile::LossSpan& loss : losses) spans.emplace_back(loss.from_ns, loss.to_ns);
  std::sort(spans.begin(), spans.end());
  Nanos covered = 0;
  Nanos reached = 0;
  for (const auto& [from, to] : spans) {
    const Nanos begin = std::max(from, reached);
    if (to > begin) covered += to - begin;
    reached = std::max(reached, to);
  }
  return covered;
}

std::vector<LossSecond> LossSeconds(const std::vector<profile::LossSpan>& losses) {
  std::map<std::pair<model::Cpu, uint64_t>, LossSecond> seconds;
  for (const profile::LossSpan& loss : losses) {
    const uint64_t second = loss.from_ns / kNanosPerSecond;
    LossSecond& sum = seconds[{loss.cpu, second}];
    sum.cpu = loss.cpu;
    sum.second = second;
    sum.spans += 1;
    sum.events += loss.events;
    sum.ns += loss.to_ns > loss.from_ns ? loss.to_ns - loss.from_ns : 0;
  }
  std::vector<LossSecond> list;
  list.reserve(seconds.size());
  for (const auto& [key, second] : seconds) list.push_back(second);
  return list;
}

// By NodeId: whether the stack that ends there lacks frames towards the root.
std::vector<bool> TruncatedNodes(const profile::Profile& profile) {
  std::vector<bool> truncated(profile.nodes.size());
  for (profile::NodeId id = 1; id < profile.nodes.size(); ++id) {
    const profile::StackNode& node = profile.nodes[id];
    const profile::Frame& frame = profile.frames[node.frame];
    truncated[id] = truncated[node.parent] || (frame.kind == profile::FrameKind::kMarker &&
                                               profile.String(frame.name) == kTruncatedStack);
  }
  return truncated;
}

void CountEntries(const profile::Profile& profile, Overview& overview) {
  const std::vector<bool> truncated = TruncatedNodes(profile);
  std::vector<bool> user(profile.nodes.size());
  std::vector<bool> kernel(profile.nodes.size());
  for (const profile::Entry& entry : profile.entries) {
    overview.kept_intervals += entry.intervals;
    overview.kept_ns += entry.observed_ns;
    overview.left_open += entry.left_open;
    overview.right_open += entry.right_open;
    if (truncated[entry.user_stack] || truncated[entry.kernel_stack]) {
      overview.truncated_ns += entry.observed_ns;
    }
    if (MissesUserStack(profile, entry)) overview.no_user_stack_ns += entry.observed_ns;
    if (entry.kernel_stack == 0) overview.no_kernel_stack_ns += entry.observed_ns;
    if (entry.user_stack != 0) user[entry.user_stack] = true;
    if (entry.kernel_stack != 0) kernel[entry.kernel_stack] = true;
  }
  const auto count = [](const std::vector<bool>& used) {
    return static_cast<uint64_t>(std::count(used.begin(), used.end(), true));
  };
  overview.user_stacks = count(user);
  overview.kernel_stacks = count(kernel);
}

}  // namespace

Overview OverviewOf(const profile::Profile& profile) {
  Overview overview;
  overview.lossy_ns = Covered(profile.losses);
  overview.loss_seconds = LossSeconds(profile.losses);
  CountEntries(profile, overview);
  std::set<model::Pid> pids;
  for (profile::ThreadId id = 1; id < profile.threads.size(); ++id) {
    const profile::Thread& thread = profile.threads[id];
    overview.threads += std::max<uint64_t>(1, thread.merged_threads);
    overview.thread_ns += thread.last_ns - thread.first_ns;
    overview.unknown_ns += thread.unknown_ns;
    if (!thread.kernel_thread) pids.insert(thread.pid);
  }
  overview.processes = pids.size();
  return overview;
}

}  // namespace offcpu::analyze
