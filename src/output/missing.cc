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

const char* CountName(const profile::Profile& profile) {
  return profile.origin.sampled() ? "samples" : "intervals";
}

std::string SampledLine(const profile::Profile& profile) {
  if (!profile.origin.sampled()) return {};
  const auto noted = [&profile](std::string_view name) {
    uint64_t count = 0;
    for (const profile::Counter& note : profile.notes) count += note.name == name ? note.count : 0;
    return count;
  };
  std::string text = fmt::format("Sampled at {} Hz: {}", profile.origin.sample_hz,
                                 Counted(noted("samples"), "samples"));
  if (const uint64_t missed = noted("missed_looks"); missed > 0) {
    text += fmt::format(", {} missed", Counted(missed, "looks"));
  }
  if (const uint64_t spared = noted("spared_looks"); spared > 0) {
    text += fmt::format(", {} left out to keep the cost down", spared);
  }
  return text + "; the time of a place is estimated from them.";
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
    add(fmt::format("{} rejected {}, {}", rejected.count, CountName(profile),
                    FormatDuration(rejected.ns)));
  }
  if (const Nanos unknown = analyze::OverviewOf(profile).unknown_ns; unknown > 0) {
    add("unknown time of threads " + FormatDuration(unknown));
  }
  if (!text.empty()) text += " (offcpu info tells more).";
  const std::string sampled = SampledLine(profile);
  return sampled + (sampled.empty() || text.empty() ? "" : " ") + text;
}

Json MissingJson(const profile::Profile& profile) {
  Json json;
  if (profile.origin.sampled()) json["sample_hz"] = profile.origin.sample_hz;
  json["lost_events"] = profile.lost_events;
  json["loss_spans"] = LossSpans(profile);
  json["unknown_ns"] = analyze::OverviewOf(profile).unknown_ns;
  json["rejected"] = CountersJson(profile.rejected);
  return json;
}

Json TotalJson(const profile::Profile& profile, const analyze::SliceTotal& total) {
  return {{CountName(profile), total.intervals}, {"ns", total.ns}};
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
