// SPDX-License-Identifier: MIT
#include "analyze/overview.h"
#include "output/info_report.h"
#include "output/json.h"
#include "output/missing.h"

namespace offcpu::output {
namespace {

using profile::Profile;

Json LossesJson(const Profile& profile, const analyze::Overview& overview) {
  Json json;
  json["events"] = profile.lost_events;
  json["spans"] = Json::array();
  for (const profile::LossSpan& span : profile.losses) {
    json["spans"].push_back({{"cpu", span.cpu},
                             {"from_ns", span.from_ns},
                             {"to_ns", span.to_ns},
                             {"events", span.events}});
  }
  json["spans_dropped"] = profile.loss_spans_dropped;
  json["covered_ns"] = overview.lossy_ns;
  return json;
}

Json OriginJson(const profile::Origin& origin) {
  Json json;
  json["producer"] = origin.producer;
  json["command"] = origin.command;
  json["target"] = origin.target;
  json["reasons"] = origin.reasons;
  json["host"] = origin.host;
  json["kernel_release"] = origin.kernel_release;
  json["machine"] = origin.machine;
  json["cpus"] = origin.cpus;
  json["start_monotonic_ns"] = origin.start_monotonic_ns;
  json["start_realtime_ns"] = origin.start_realtime_ns;
  json["time_split"] = origin.time_split;
  json["estimated"] = origin.estimated;
  if (origin.sampled()) json["sample_hz"] = origin.sample_hz;
  return json;
}

}  // namespace

std::string InfoJson(const Profile& profile) {
  const analyze::Overview overview = analyze::OverviewOf(profile);
  Json json;
  json["losses"] = LossesJson(profile, overview);
  json["rejected"] = CountersJson(profile.rejected);
  json["unknown_ns"] = overview.unknown_ns;
  json["truncated_ns"] = overview.truncated_ns;
  json["no_user_stack_ns"] = overview.no_user_stack_ns;
  json["no_kernel_stack_ns"] = overview.no_kernel_stack_ns;
  json["warnings"] = profile.warnings;
  json["backend"] = profile.origin.backend;
  json["window_ns"] = profile.window_ns;
  json["origin"] = OriginJson(profile.origin);
  json["intervals"] = CountersJson(profile.intervals);
  json["kept"] = {{CountName(profile), overview.kept_intervals}, {"ns", overview.kept_ns}};
  json["left_open"] = overview.left_open;
  json["right_open"] = overview.right_open;
  json["threads"] = overview.threads;
  json["thread_ns"] = overview.thread_ns;
  json["processes"] = overview.processes;
  json["entries"] = profile.entries.size();
  json["stacks"] = overview.user_stacks + overview.kernel_stacks;
  json["user_stacks"] = overview.user_stacks;
  json["kernel_stacks"] = overview.kernel_stacks;
  json["notes"] = CountersJson(profile.notes);
  return JsonDocument(json);
}

}  // namespace offcpu::output
