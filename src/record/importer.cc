// SPDX-License-Identifier: MIT
#include "record/importer.h"

#include <sys/utsname.h>

#include <algorithm>
#include <utility>

#include "profile/canonical.h"
#include "record/session.h"
#include "source/replay/open.h"
#include "symbolize/running_kernel.h"

namespace offcpu::record {
namespace {

using source::replay::Recording;
using source::replay::RecordingFacts;

std::string HostName() {
  utsname name{};
  return ::uname(&name) == 0 ? name.nodename : "";
}

// Only of this very kernel are names those of /proc/kallsyms (F8): the same release and build, and
// the same addresses, which change at each boot.
Result<void> CheckKernel(const RecordingFacts& recorded) {
  const auto& reference = recorded.kernel_reference;
  utsname name{};
  if (::uname(&name) != 0 || recorded.kernel_release != name.release) {
    return Failed("it is of kernel " + (recorded.kernel_release.empty() ? "an unknown release"
                                                                        : recorded.kernel_release));
  }
  if (recorded.kernel_build_id.empty()) return Failed("it has no build-id of its kernel");
  if (recorded.kernel_build_id != symbolize::RunningKernelBuildId()) {
    return Failed("its kernel has another build-id than this one");
  }
  if (!reference) return Failed("it does not tell where its kernel was in memory");
  if (symbolize::RunningKernelAddress(reference->symbol) != reference->address) {
    return Failed("its kernel was at other addresses, before this boot");
  }
  return {};
}

profile::Origin OriginOf(const ImportOptions& options, const RecordingFacts& facts, size_t cpus) {
  profile::Origin origin;
  origin.producer = "offcpu " OFFCPU_VERSION;
  origin.backend = "replay";
  origin.host = facts.host;
  origin.kernel_release = facts.kernel_release;
  origin.machine = facts.machine;
  origin.command = options.command_line;
  origin.target = facts.command.empty() ? "[" + facts.recorder + "]" : facts.command;
  if (options.selection.blocked) origin.reasons.emplace_back("blocked");
  if (options.selection.runnable) origin.reasons.emplace_back("runnable");
  if (options.selection.preempted) origin.reasons.emplace_back("preempted");
  origin.cpus = static_cast<uint32_t>(cpus);
  origin.time_split = facts.wakeups;
  return origin;
}

Options SessionOptions(const ImportOptions& options, const Recording& recording,
                       const RecordingFacts& facts, std::vector<std::string>* warnings) {
  Options session;
  session.selection = options.selection;
  session.inlines = options.inlines;
  session.time_split = facts.wakeups;
  session.live = false;
  session.symbols_below = options.below;
  session.same_host = !facts.host.empty() && facts.host == HostName();
  session.names = recording.names();
  session.kernel_symbols = options.kallsyms;
  session.kallsyms_text = facts.kallsyms;
  const bool named = session.names != nullptr || session.kallsyms_text != nullptr;
  if (named || !session.kernel_symbols.empty()) return session;
  const auto same_kernel = CheckKernel(facts);
  session.same_kernel = same_kernel.has_value();
  if (session.kernel_symbols.empty()) {
    if (same_kernel) {
      session.kernel_symbols = "/proc/kallsyms";
    } else {
      warnings->push_back(
          "kernel functions have no names, as the recording is not of the kernel "
          "that runs here: " +
          same_kernel.error().message + "; give its kallsyms with --kallsyms FILE");
    }
  }
  return session;
}

// A recording tells which threads there were, but nothing of those that did not switch meanwhile.
// They are left out, and counted.
void DropSilentThreads(profile::Profile* profile) {
  const auto is_silent = [](const profile::Thread& thread) {
    const Nanos known = thread.on_cpu_ns + thread.blocked_ns() + thread.runnable_ns +
                        thread.preempted_ns + thread.newborn_ns;
    const uint64_t switches =
        thread.voluntary_switches + thread.involuntary_switches + thread.switch_ins;
    return known == 0 && switches == 0;
  };
  std::vector<bool> has_entry(profile->threads.size());
  for (const profile::Entry& entry : profile->entries) has_entry[entry.thread] = true;
  std::vector<profile::ThreadId> new_ids(profile->threads.size());
  std::vector<profile::Thread> kept{profile::Thread{}};
  profile::Counter dropped{"threads_without_events", 0, 0};
  for (size_t id = 1; id < profile->threads.size(); ++id) {
    const profile::Thread& thread = profile->threads[id];
    if (is_silent(thread) && !has_entry[id]) {
      ++dropped.count;
      dropped.ns += thread.unknown_ns;
    } else {
      new_ids[id] = static_cast<profile::ThreadId>(kept.size());
      kept.push_back(thread);
    }
  }
  if (dropped.count == 0) return;
  for (profile::Entry& entry : profile->entries) entry.thread = new_ids[entry.thread];
  profile->threads = std::move(kept);
  profile->notes.push_back(std::move(dropped));
  *profile = profile::Canonicalize(std::move(*profile));
}

}  // namespace

Result<Imported> Import(const ImportOptions& options) {
  auto source = source::replay::OpenRecording(options.file, options.formats);
  if (!source) return source.error();
  Recording& replay = **source;
  const auto begin = replay.Start();
  if (!begin) return begin.error();
  profile::Profile frame;
  const RecordingFacts facts = replay.facts();
  Session session(SessionOptions(options, replay, facts, &frame.warnings));
  session.Begin(*begin);
  while (!replay.finished()) {
    replay.Drain(session);
    session.Flush();
  }
  const Nanos end = replay.Stop(session);
  if (auto usable = replay.CheckUse(); !usable) return usable.error();
  frame.origin = OriginOf(options, facts, replay.cpu_count());
  for (const std::string& warning : replay.warnings()) frame.warnings.push_back(warning);
  for (const source::Note& note : replay.notes()) {
    if (note.count != 0) frame.notes.push_back({note.name, note.count, 0});
  }
  Imported imported;
  imported.whole = !replay.damaged();
  imported.profile =
      session.Finish(end, std::move(frame), [](model::Cpu) { return std::optional<int64_t>(); });
  DropSilentThreads(&imported.profile);
  profile::Origin& origin = imported.profile.origin;
  origin.start_realtime_ns = replay.RealTimeOf(origin.start_monotonic_ns);
  return imported;
}

}  // namespace offcpu::record
