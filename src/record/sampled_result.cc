// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "profile/canonical.h"
#include "profile/histogram.h"
#include "profile/interner.h"
#include "record/sampled_session.h"
#include "record/watched_thread.h"

// The end of a SampledSession: what was seen, as a profile.
namespace offcpu::record {
namespace {

void Count(const char* name, uint64_t samples, Nanos time, std::vector<profile::Counter>* all) {
  if (time == 0) return;
  auto known = std::find_if(all->begin(), all->end(), [name](const profile::Counter& counter) {
    return counter.name == name;
  });
  if (known == all->end()) known = all->insert(all->end(), {name, 0, 0});
  known->count += samples;
  known->ns += time;
}

}  // namespace

profile::Thread SampledSession::AccountOf(const Watched& thread) const {
  const bool left_to_wait = thread.switches.voluntary != thread.switches_before.voluntary;
  const SampledAccount::Totals totals = thread.account.Finish(left_to_wait);
  profile::Thread account;
  account.pid = thread.pid;
  account.tid = thread.tid;
  account.inner_pid = thread.inner_pid;
  account.inner_tid = thread.inner_tid;
  account.kernel_thread = thread.kernel_thread;
  account.first_ns = totals.first > begin_ ? totals.first - begin_ : 0;
  account.last_ns = account.first_ns + (totals.last - totals.first);
  account.on_cpu_ns = totals.on_cpu;
  account.sleeping_ns = totals.sleeping;
  account.runnable_ns = totals.waiting;
  account.unknown_ns = totals.unknown;
  // Smaller than before: another thread's, which took over the id.
  const auto growth = [](uint64_t now, uint64_t before) { return now - std::min(now, before); };
  account.voluntary_switches = growth(thread.switches.voluntary, thread.switches_before.voluntary);
  account.involuntary_switches =
      growth(thread.switches.involuntary, thread.switches_before.involuntary);
  account.switch_ins = totals.switch_ins;
  account.samples = places_.SamplesOf(thread.row);
  return account;
}

profile::Profile SampledSession::Finish(profile::Profile frame) {
  Scan();
  for (Watched* thread : alive_) {
    if (!thread->ended) Look(*thread, Depth::kAlways);
  }
  Settle();
  for (Watched* thread : alive_) {
    if (!thread->ended) ReadSwitches(*thread);
  }
  profile::Profile profile = std::move(frame);
  profile.window_ns = MonotonicNow() - begin_;
  profile.when_bucket_ns = profile::kMinWhenBucket << profile::WhenShift(profile.window_ns);
  profile.origin.start_monotonic_ns = begin_;
  profile.origin.sample_hz = options_.sample_hz;
  profile.origin.time_split = false;
  profile::Interner names(&profile);
  for (const auto& thread : threads_) {
    if (thread) AddThread(*thread, &profile, &names);
  }
  AddNotes(&profile);
  AddWarnings(&profile);
  return profile::Canonicalize(std::move(profile));
}

void SampledSession::AddThread(const Watched& thread, profile::Profile* profile,
                               profile::Interner* names) const {
  profile::Thread account = AccountOf(thread);
  account.comm = names->AddString(thread.comm);
  account.process = names->AddString(thread.process);
  const auto id = static_cast<profile::ThreadId>(profile->threads.size());
  profile->threads.push_back(account);
  Count("blocked", account.samples, account.sleeping_ns, &profile->intervals);
  Count("runnable", 0, account.runnable_ns, &profile->intervals);
  // Waits for a CPU have no place, so none is kept, whatever was asked for.
  Count("reason", 0, account.runnable_ns, &profile->rejected);
  const Selection& selection = options_.selection;
  const char* cause = !selection.blocked                                  ? "reason"
                      : !thread.kernel_thread && !selection.user_threads  ? "user_thread"
                      : thread.kernel_thread && !selection.kernel_threads ? "kernel_thread"
                                                                          : nullptr;
  if (cause != nullptr) {
    Count(cause, account.samples, account.sleeping_ns, &profile->rejected);
    return;
  }
  const SampledThread sampled{account.first_ns, account.last_ns, account.sleeping_ns, thread.comm,
                              thread.process};
  SampledPlaces::Shares shares =
      places_.ShareOut(thread.row, sampled, selection.states, profile->window_ns, names);
  Count("state", shares.rejected_samples, shares.rejected_ns, &profile->rejected);
  for (profile::Entry& entry : shares.entries) {
    entry.thread = id;
    profile->entries.push_back(std::move(entry));
  }
}

void SampledSession::AddNotes(profile::Profile* profile) const {
  const auto note = [profile](const char* name, uint64_t count) {
    if (count != 0) profile->notes.push_back({name, count, 0});
  };
  note("samples", samples_);
  note("missed_looks", clock_.missed());  // at all threads
  note("spared_looks", spared_);          // at one thread each
  note("unplaced_samples", unplaced_);
  note("torn_samples", torn_);
  note("threads_not_watched", not_watched_);
}

void SampledSession::AddWarnings(profile::Profile* profile) const {
  const auto warn = [profile](std::string text) { profile->warnings.push_back(std::move(text)); };
  warn(fmt::format(
      "sampled at {} Hz: the threads' times and switch counts are the kernel's own, but where they "
      "slept is estimated from samples, and single waits are not known",
      options_.sample_hz));
  warn(
      "the proc back end can't tell waiting for a CPU after a wake-up from having been preempted: "
      "all of it counts as runnable");
  if (options_.user_stacks) warn("the proc back end has no user stacks");
  if (options_.kernel_stacks && !stacks_) {
    warn("of kernel stacks only the function that waits is known: /proc/PID/stack is for root");
  }
  if (options_.max_stack != 0) {
    warn("--max-stack was not applied: the proc back end has kernel stacks whole");
  }
  const Selection& selection = options_.selection;
  if (selection.runnable || selection.preempted) {
    warn("--reasons: the proc back end has places of blocked threads only");
  }
  if (selection.min_off_cpu || selection.max_off_cpu) {
    warn(
        "--min-off-cpu and --max-off-cpu were not applied: the proc back end knows no single "
        "waits");
  }
  if (unplaced_ != 0) {
    warn(
        fmt::format("{} of {} samples have no place: /proc/PID/wchan is empty, or the threads are "
                    "another user's",
                    unplaced_, samples_));
  }
  if (not_watched_ != 0) {
    warn(fmt::format("{} threads were not watched: {} are", not_watched_, kMaxWatchedThreads));
  }
}

}  // namespace offcpu::record
