// SPDX-License-Identifier: MIT
#include "output/digest.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "analyze/frame_text.h"
#include "analyze/heaviest.h"
#include "analyze/overview.h"
#include "analyze/sampling.h"
#include "output/missing.h"
#include "output/terminal.h"
#include "output/text_table.h"

namespace offcpu::output {
namespace {

using Align = TextTable::Align;

constexpr size_t kStacks = 5;
constexpr ptrdiff_t kFramesAtEachEnd = 4;

// All threads' time in the window, by where it went; adds up to their lives.
std::string TimeTable(const profile::Profile& profile) {
  profile::Thread sum;
  uint64_t lives = 0;
  for (const profile::Thread& thread : profile.threads) {
    lives += thread.last_ns - thread.first_ns;
    sum.on_cpu_ns += thread.on_cpu_ns;
    sum.sleeping_ns += thread.sleeping_ns;
    sum.runqueue_ns += thread.runqueue_ns;
    sum.unsplit_ns += thread.unsplit_ns;
    sum.runnable_ns += thread.runnable_ns;
    sum.preempted_ns += thread.preempted_ns;
    sum.newborn_ns += thread.newborn_ns;
    sum.unknown_ns += thread.unknown_ns;
  }
  TextTable table({{"TIME OF ALL THREADS", Align::kLeft},
                   {"", Align::kRight},
                   {"", Align::kRight},
                   {"", Align::kLeft}});
  const auto row = [&](const char* name, Nanos time, const char* remark) {
    if (time != 0) table.AddRow({name, FormatDuration(time), FormatShare(time, lives), remark});
  };
  row("on CPU", sum.on_cpu_ns, "");
  row("blocked", sum.blocked_ns(), "left the CPU to wait");
  row("  sleeping", sum.sleeping_ns, "until it was woken");
  row("  run queue", sum.runqueue_ns, "woken, waiting for a CPU");
  row("  unsplit", sum.unsplit_ns, "no wake-up was seen");
  row("runnable", sum.runnable_ns,
      profile.origin.sampled() ? "waiting for a CPU, whatever for"
                               : "left while able to run, waiting for a CPU");
  row("preempted", sum.preempted_ns, "preempted inside the kernel, waiting for a CPU");
  row("newborn", sum.newborn_ns, "from birth to the first run");
  row("unknown", sum.unknown_ns, "events are missing");
  return table.Render();
}

// A whole stack on one line is too long for a screen: its two ends say most.
std::string ShortStack(const profile::Profile& profile, const analyze::HeavyStack& stack) {
  std::vector<std::string> frames;
  for (const profile::NodeId node : {stack.user_stack, stack.kernel_stack}) {
    for (profile::FrameId frame : FramesOf(profile, node)) {
      frames.push_back(Printable(analyze::FrameText(profile, frame)));
    }
  }
  if (std::ssize(frames) > 2 * kFramesAtEachEnd) {
    const auto first = frames.begin() + kFramesAtEachEnd;
    const auto last = frames.end() - kFramesAtEachEnd;
    *first = fmt::format("...{} more...", last - first);
    frames.erase(first + 1, last);
  }
  return frames.empty() ? "[no stack]" : fmt::format("{}", fmt::join(frames, " ; "));
}

Nanos ErrorOf(const profile::Profile& profile, const analyze::HeavyStack& stack) {
  analyze::TimeByThread times;
  for (const profile::Entry& entry : profile.entries) {
    if (entry.user_stack == stack.user_stack && entry.kernel_stack == stack.kernel_stack) {
      times[entry.thread] += entry.observed_ns;
    }
  }
  return analyze::SamplingError(profile, times);
}

std::string StackTable(const profile::Profile& profile, const analyze::Overview& overview) {
  if (profile.entries.empty()) return "No interval was kept.\n";
  std::string text = fmt::format("HEAVIEST STACKS ({}, {} in all)\n",
                                 Counted(overview.kept_intervals, CountName(profile)),
                                 FormatDuration(overview.kept_ns));
  size_t rank = 0;
  for (const analyze::HeavyStack& stack : analyze::HeaviestStacks(profile, kStacks)) {
    const std::string counts =
        profile.origin.sampled()
            ? fmt::format("in {}, standard error {}", Counted(stack.intervals, "samples"),
                          FormatDuration(ErrorOf(profile, stack)))
            : fmt::format("in {}, mean {}, max {}", Counted(stack.intervals, "intervals"),
                          FormatDuration(stack.ns / std::max<uint64_t>(stack.intervals, 1)),
                          FormatDuration(stack.max_ns));
    text +=
        fmt::format("{}. {} ({}) {}\n   {}\n", ++rank, FormatDuration(stack.ns),
                    FormatShare(stack.ns, overview.kept_ns), counts, ShortStack(profile, stack));
  }
  return text;
}

}  // namespace

std::string DigestText(const profile::Profile& profile) {
  const analyze::Overview overview = analyze::OverviewOf(profile);
  std::string text =
      fmt::format("Recorded {} for {}: {} of {}, back end {}.\n", Printable(profile.origin.target),
                  FormatDuration(profile.window_ns), Counted(overview.threads, "threads"),
                  Counted(overview.processes, "processes"), profile.origin.backend);
  text += '\n' + TimeTable(profile) + '\n' + StackTable(profile, overview) + '\n';
  const bool none_lost = profile.lost_events == 0 && !profile.origin.sampled();
  text += none_lost ? "No events were lost.\n" : "";
  if (const std::string missing = MissingLine(profile); !missing.empty()) text += missing + '\n';
  for (const std::string& warning : profile.warnings) text += "Note: " + warning + ".\n";
  return text;
}

}  // namespace offcpu::output
