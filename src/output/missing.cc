// SPDX-License-Identifier: MIT
#include "output/missing.h"

#include <fmt/format.h>

#include "analyze/overview.h"
#include "output/terminal.h"

namespace offcpu::output {
namespace {

uint64_t LossSpans(const profile::Profile& profile) {
  return profile.losses.size() + profile.loss_spans_dropped;
}

}  // namespace

std::string LossText(const profile::Profile& profile) {
  if (profile.lost_events == 0 && LossSpans(profile) == 0) return {};
  return fmt::format("{} lost events in {} spans over {} of the window", profile.lost_events,
                     LossSpans(profile),
                     FormatShare(analyze::OverviewOf(profile).lossy_ns, profile.window_ns));
}

std::string MissingLine(const profile::Profile& profile) {
  std::string text;
  const auto add = [&text](const std::string& part) {
    text += (text.empty() ? "Not in here: " : "; ") + part;
  };
  if (const std::string losses = LossText(profile); !losses.empty()) add(losses);
  profile::Counter rejected;
  for (const profile::Counter& counter : profile.rejected) {
    rejected.count += counter.count;
    rejected.ns += counter.ns;
  }
  if (rejected.count > 0) {
    add(fmt::format("{} rejected intervals, {}", rejected.count, FormatDuration(rejected.ns)));
  }
  if (const Nanos unknown = analyze::OverviewOf(profile).unknown_ns; unknown > 0) {
    add("unknown time of threads " + FormatDuration(unknown));
  }
  return text.empty() ? text : text + " (offcpu info tells more).";
}

Json MissingJson(const profile::Profile& profile) {
  Json json;
  json["lost_events"] = profile.lost_events;
  json["loss_spans"] = LossSpans(profile);
  json["unknown_ns"] = analyze::OverviewOf(profile).unknown_ns;
  json["rejected"] = CountersJson(profile.rejected);
  return json;
}

Json TotalJson(const analyze::SliceTotal& total) {
  return {{"intervals", total.intervals}, {"ns", total.ns}};
}

Json CountersJson(const std::vector<profile::Counter>& counters) {
  Json json = Json::object();
  for (const profile::Counter& counter : counters) {
    Json& sum = json.emplace(counter.name, Json{{"count", 0}, {"ns", 0}}).first.value();
    sum["count"] = sum["count"].get<uint64_t>() + counter.count;  // a file may name one twice
    sum["ns"] = sum["ns"].get<uint64_t>() + counter.ns;
  }
  return json;
}

}  // namespace offcpu::output
