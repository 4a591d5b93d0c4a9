// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "profile/profile.h"
#include "tests/support/live_counters.h"

// Looking at a profile, and the laws of design.md as checks on it.
namespace offcpu::live {

// The rows of the thread, added up; a failure when it has none. `pid` and the names are the last
// row's.
profile::Thread AccountOf(const profile::Profile& profile, pid_t tid);

// Function names of a stack, root first, without scope, template arguments and parameters; inlined
// functions are left out.
std::vector<std::string> NamesOf(const profile::Profile& profile, profile::NodeId stack);

std::string PlainName(std::string_view name);

// Entries that belong together, added up.
struct Found {
  std::vector<const profile::Entry*> entries;
  uint64_t intervals = 0;
  uint64_t left_open = 0;
  uint64_t right_open = 0;
  Nanos observed = 0;
  Nanos max = 0;
};

// The thread's entries of this reason whose user stack has `function`; "" for any stack.
Found Find(const profile::Profile& profile, pid_t tid, const std::string& function,
           model::Reason reason = model::Reason::kBlocked);

// Each of the entries ends in the user function `leaf`, in state `task_state`, and in the kernel at
// whoever called the scheduler, below a function whose name contains `kernel_part`.
void ExpectLeaves(const profile::Profile& profile, const Found& found, const std::string& leaf,
                  std::string_view kernel_part, uint32_t task_states);

// The profile rests on complete data.
void ExpectNoLoss(const profile::Profile& profile);

// Law 1, and law 4 for what the filters rejected: each row adds up to the thread's life, entries
// and what was rejected to the accounts.
void ExpectConserved(const profile::Profile& profile);

// How many intervals may be missing because their end was hidden. None, but on machines that hide
// tasks from tracepoints, whichever back end it is: there a hidden thread that hands over costs an
// interval, which is counted.
uint64_t HiddenIntervals(const profile::Profile& profile);

// The program waited there so many times.
void ExpectIntervals(const profile::Profile& profile, const Found& found, uint64_t wanted);

// What may differ between a thread's account and the kernel's counters.
struct Allowed {
  bool signals = false;  // pending signals turn a voluntary switch-out into one of state R
  Nanos left_out = 0;    // LeftOutTime() meanwhile
};

// Law 2 for one thread.
void ExpectKernelAgrees(const profile::Profile& profile, const profile::Thread& account,
                        const Counters& growth, const Allowed& allowed);

// What a program measured around waits is at least their time off the CPU, and at most that and all
// the time the thread was not blocked in: both clocks are CLOCK_MONOTONIC, so there is no
// tolerance.
void ExpectMeasured(const profile::Profile& profile, pid_t tid, const Found& found, Nanos measured);

}  // namespace offcpu::live
