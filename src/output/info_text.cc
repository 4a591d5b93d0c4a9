// SPDX-License-Identifier: MIT
#include <ctime>
#include <utility>

#include <fmt/format.h>

#include "analyze/overview.h"
#include "output/info_report.h"
#include "output/missing.h"
#include "output/terminal.h"
#include "output/text_table.h"

namespace offcpu::output {
namespace {

using analyze::Overview;
using profile::Profile;

constexpr size_t kMaxLossRows = 20;

std::string Title(const char* title) { return std::string(title) + '\n'; }

std::string Field(const char* name, const std::string& value) {
  return fmt::format("  {:<18} {}\n", name, value.empty() ? "-" : Printable(value));
}

// "2024-05-01 12:00:00.000 UTC"; the calendar of Unix time, whatever the machine's time zone.
std::string RealTime(uint64_t unix_ns) {
  const auto seconds = static_cast<time_t>(unix_ns / kNanosPerSecond);
  tm parts{};
  if (gmtime_r(&seconds, &parts) == nullptr) return std::to_string(unix_ns) + " ns of Unix time";
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:03} UTC", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     unix_ns / 1'000'000 % 1000);
}

std::string CounterTable(const char* what, const std::vector<profile::Counter>& counters) {
  if (counters.empty()) return "  none\n";
  TextTable table({{""}, {what, TextTable::Align::kLeft}, {"COUNT"}, {"TIME"}});
  for (const profile::Counter& counter : counters) {
    table.AddRow({"", counter.name, std::to_string(counter.count), FormatDuration(counter.ns)});
  }
  return table.Render();
}

std::string LossTable(const Overview& overview) {
  TextTable table({{""}, {"CPU"}, {"SECOND"}, {"SPANS"}, {"EVENTS"}, {"TIME"}});
  size_t rows = 0;
  for (const analyze::LossSecond& second : overview.loss_seconds) {
    if (++rows > kMaxLossRows) break;
    table.AddRow({"", std::to_string(second.cpu), std::to_string(second.second),
                  std::to_string(second.spans), std::to_string(second.events),
                  FormatDuration(second.ns)});
  }
  std::string text = table.Render();
  if (overview.loss_seconds.size() > kMaxLossRows) {
    text += fmt::format("  and {} more rows; --format json has every span\n",
                        overview.loss_seconds.size() - kMaxLossRows);
  }
  return text;
}

std::string Losses(const Profile& profile, const Overview& overview) {
  std::string text = Title("Losses");
  if (profile.losses.empty() && profile.lost_events == 0 && profile.loss_spans_dropped == 0) {
    text += Field("events", "none lost");
  } else {
    text += Field("events", fmt::format("{} lost", profile.lost_events));
    text += Field("spans", fmt::format("{} over {} of the window ({})", profile.losses.size(),
                                       FormatShare(overview.lossy_ns, profile.window_ns),
                                       FormatDuration(overview.lossy_ns)));
    if (profile.loss_spans_dropped > 0) {
      text += Field("spans not kept", std::to_string(profile.loss_spans_dropped));
    }
    if (!profile.losses.empty()) text += LossTable(overview);
  }
  const auto share_of_kept = [&overview](Nanos ns) {
    return fmt::format("{} ({} of the kept time)", FormatDuration(ns),
                       FormatShare(ns, overview.kept_ns));
  };
  text += Field("unknown time",
                fmt::format("{} ({} of the threads' time)", FormatDuration(overview.unknown_ns),
                            FormatShare(overview.unknown_ns, overview.thread_ns)));
  text += Field("truncated stacks", share_of_kept(overview.truncated_ns));
  text += Field("no user stack", share_of_kept(overview.no_user_stack_ns));
  text += Field("no kernel stack", share_of_kept(overview.no_kernel_stack_ns));
  return text;
}

std::string Recording(const Profile& profile) {
  const profile::Origin& origin = profile.origin;
  std::string reasons;
  for (const std::string& reason : origin.reasons) {
    reasons += (reasons.empty() ? "" : ", ") + reason;
  }
  std::string text = Title("Recording");
  text += Field("producer", origin.producer);
  text += Field("backend", origin.backend);
  text += Field("command", origin.command);
  text += Field("target", origin.target);
  text += Field("reasons kept", reasons);
  text += Field("start", origin.start_realtime_ns == 0 ? "" : RealTime(origin.start_realtime_ns));
  text += Field("window", FormatDuration(profile.window_ns));
  text += Field("time split", origin.time_split ? "on" : "off: wake-ups were not recorded");
  if (profile.origin.sampled()) text += Field("sampled", SampledLine(profile));
  text += Field("weights", origin.sampled()   ? "estimated: shares of exact thread times by samples"
                           : origin.estimated ? "observed and estimated: stacks were sampled"
                                              : "observed: every stack was taken");
  text += Field("host", origin.host);
  text += Field("kernel", origin.kernel_release);
  text += Field("machine", origin.machine);
  text += Field("CPUs", std::to_string(origin.cpus));
  return text;
}

std::string Contents(const Profile& profile, const Overview& overview) {
  std::string text = Title("Contents");
  text += Field("threads", std::to_string(overview.threads));
  text += Field("processes", std::to_string(overview.processes));
  text += Field("entries", std::to_string(profile.entries.size()));
  text += Field(profile.origin.sampled() ? "samples kept" : "intervals kept",
                fmt::format("{}, {}", overview.kept_intervals, FormatDuration(overview.kept_ns)));
  text += Field("open at the start", std::to_string(overview.left_open));
  text += Field("open at the end", std::to_string(overview.right_open));
  text += Field("user stacks", std::to_string(overview.user_stacks));
  text += Field("kernel stacks", std::to_string(overview.kernel_stacks));
  return text;
}

}  // namespace

std::string InfoText(const Profile& profile) {
  const Overview overview = analyze::OverviewOf(profile);
  std::string text = Losses(profile, overview);
  text += Title("\nRejected, not in the stacks") + CounterTable("CAUSE", profile.rejected);
  if (!profile.warnings.empty()) {
    text += Title("\nWarnings");
    for (const std::string& warning : profile.warnings) text += "  " + Printable(warning) + '\n';
  }
  text += '\n' + Recording(profile) + '\n' + Contents(profile, overview);
  text += Title(profile.origin.sampled() ? "\nTime off the CPU, kept or not"
                                         : "\nAll intervals seen, kept or not") +
          CounterTable("REASON", profile.intervals);
  if (!profile.notes.empty()) text += Title("\nNotes") + CounterTable("NOTE", profile.notes);
  return text;
}

}  // namespace offcpu::output
