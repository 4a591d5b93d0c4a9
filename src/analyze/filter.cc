// SPDX-License-Identifier: MIT
#include "analyze/filter.h"

#include <algorithm>

#include "analyze/frame_text.h"

namespace offcpu::analyze {

Result<Filter> Filter::Create(const profile::Profile& profile,
                              const std::vector<std::string>& texts, const Selection& selection) {
  Filter filter(profile);
  filter.reasons_ = selection.reasons;
  filter.states_ = selection.states;
  if (Result<void> done = filter.SearchFrames(texts, selection); !done) return done.error();
  if (Result<void> done = filter.SearchNames(selection); !done) return done.error();
  filter.SelectThreads(selection);
  return filter;
}

Result<void> Filter::SearchFrames(const std::vector<std::string>& texts,
                                  const Selection& selection) {
  needs_include_ = !selection.include.empty();
  if (selection.include.empty() && selection.exclude.empty()) return {};
  const auto search = [&selection](std::string_view text) -> Result<Found> {
    Result<bool> included = AnyMatches(selection.include, text);
    if (!included) return included.error();
    Result<bool> excluded = AnyMatches(selection.exclude, text);
    if (!excluded) return excluded.error();
    return Found{*included, *excluded};
  };
  std::vector<Found> frames(1);
  for (profile::FrameId id = 1; id < texts.size(); ++id) {
    Result<Found> found = search(texts[id]);
    if (!found) return found.error();
    frames.push_back(*found);
  }
  nodes_.resize(1);
  for (profile::NodeId id = 1; id < profile_->nodes.size(); ++id) {  // a parent comes first
    const profile::StackNode& node = profile_->nodes[id];
    Found found = frames[node.frame];
    found.Add(nodes_[node.parent]);
    nodes_.push_back(found);
  }
  Result<Found> no_user = search(kNoUserStack);
  if (!no_user) return no_user.error();
  Result<Found> no_kernel = search(kNoKernelStack);
  if (!no_kernel) return no_kernel.error();
  no_user_stack_ = *no_user;
  no_kernel_stack_ = *no_kernel;
  return {};
}

Result<void> Filter::SearchNames(const Selection& selection) {
  if (selection.comms.empty()) return {};
  comm_wanted_.resize(profile_->strings.size());
  std::vector<bool> searched(profile_->strings.size());
  for (const profile::Entry& entry : profile_->entries) {
    if (searched[entry.comm]) continue;
    searched[entry.comm] = true;
    Result<bool> matches = AnyMatches(selection.comms, profile_->String(entry.comm));
    if (!matches) return matches.error();
    comm_wanted_[entry.comm] = *matches;
  }
  return {};
}

void Filter::SelectThreads(const Selection& selection) {
  if (selection.pids.empty() && selection.tids.empty()) return;
  const auto contains = [](const auto& ids, int id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  };
  for (const profile::Thread& thread : profile_->threads) {
    thread_wanted_.push_back(contains(selection.pids, thread.pid) ||
                             contains(selection.tids, thread.tid));
  }
  thread_wanted_[0] = false;
}

bool Filter::Keep(const profile::Entry& entry) const {
  if (!Selected(entry)) return false;
  if (!thread_wanted_.empty() && !thread_wanted_[entry.thread]) return false;
  if (!comm_wanted_.empty() && !comm_wanted_[entry.comm]) return false;
  const bool preempted = entry.reason == model::Reason::kPreempted;
  if (!states_.Matches(entry.task_state, preempted)) return false;
  if (nodes_.empty()) return true;
  Found found;
  if (entry.user_stack != 0) found.Add(nodes_[entry.user_stack]);
  if (entry.kernel_stack != 0) found.Add(nodes_[entry.kernel_stack]);
  if (entry.kernel_stack == 0) found.Add(no_kernel_stack_);
  if (MissesUserStack(*profile_, entry)) found.Add(no_user_stack_);
  return !found.excluded && (found.included || !needs_include_);
}

}  // namespace offcpu::analyze
