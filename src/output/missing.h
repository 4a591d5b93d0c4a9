// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "analyze/slice.h"
#include "output/json.h"
#include "profile/profile.h"

// What a result lacks. It reaches every output (design law 4).
namespace offcpu::output {

// "12 lost events in 3 spans over 0.5 % of the window"; empty when nothing was lost.
std::string LossText(const profile::Profile& profile);

// That the profile is sampled, where it is. "Not in here: " with the losses, the rejected intervals
// and the threads' unknown time; empty when nothing is missing.
std::string MissingLine(const profile::Profile& profile);

// "Sampled at 100 Hz (1234 samples, 5 looks missed): ..."; empty when the profile was not sampled.
std::string SampledLine(const profile::Profile& profile);

// What entries count: "samples" in a sampled profile, else "intervals". Also the name in JSON.
const char* CountName(const profile::Profile& profile);

// {"sample_hz" (of a sampled profile), "lost_events", "loss_spans", "unknown_ns", "rejected":
// {cause: {"count", "ns"}}}
Json MissingJson(const profile::Profile& profile);

// {"intervals", "ns"}; {"samples", "ns"} of a sampled profile
Json TotalJson(const profile::Profile& profile, const analyze::SliceTotal& total);

// {name: {"count", "ns"}, ...}
Json CountersJson(const std::vector<profile::Counter>& counters);

}  // namespace offcpu::output
