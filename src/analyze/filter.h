// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string>
#include <vector>

#include "analyze/pattern.h"
#include "base/result.h"
#include "model/ids.h"
#include "model/sched_event.h"
#include "profile/profile.h"
#include "sched/state_letters.h"

namespace offcpu::analyze {

// Which entries a command looks at. Empty lists select all.
struct Selection {
  std::array<bool, model::kReasonCount> reasons{true, true, true, true};  // by model::Reason
  sched::StateFilter states;
  std::vector<model::Pid> pids;  // threads of these processes,
  std::vector<model::Tid> tids;  // and these threads
  std::vector<Pattern> comms;    // searched in the thread's name at the switch-out
  std::vector<Pattern>
      include;  // searched in each frame of both stacks, as rendered (frame_text.h)
  std::vector<Pattern> exclude;  // wins over include
};

// A Selection applied to one profile: every name is searched once, entries are then cheap to judge.
// Whole entries are kept or dropped, whichever stacks are rendered later.
class Filter {
 public:
  // `texts` is FrameTexts(profile). Fails when a pattern is too costly to search with.
  static Result<Filter> Create(const profile::Profile& profile,
                               const std::vector<std::string>& texts, const Selection& selection);

  // Of a selected reason: what the rest of the selection drops of these counts as filtered.
  bool Selected(const profile::Entry& entry) const {
    return reasons_[static_cast<size_t>(entry.reason)];
  }
  // Selected and not filtered out.
  bool Keep(const profile::Entry& entry) const;

 private:
  // What the patterns found on the way from the root to a node (or in a placeholder).
  struct Found {
    bool included = false;
    bool excluded = false;

    void Add(const Found& other) {
      included |= other.included;
      excluded |= other.excluded;
    }
  };

  explicit Filter(const profile::Profile& profile) : profile_(&profile) {}
  Result<void> SearchFrames(const std::vector<std::string>& texts, const Selection& selection);
  Result<void> SearchNames(const Selection& selection);
  void SelectThreads(const Selection& selection);

  const profile::Profile* profile_;  // outlives the filter
  std::array<bool, model::kReasonCount> reasons_{};
  sched::StateFilter states_;
  bool needs_include_ = false;
  std::vector<Found> nodes_;  // by NodeId; empty without patterns
  Found no_user_stack_;
  Found no_kernel_stack_;
  std::vector<bool> comm_wanted_;    // by StringId; empty: all
  std::vector<bool> thread_wanted_;  // by ThreadId; empty: all
};

}  // namespace offcpu::analyze
