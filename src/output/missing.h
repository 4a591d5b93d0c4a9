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

// "Not in here: " with the losses, the rejected intervals and the threads' unknown time; empty when
// nothing is missing.
std::string MissingLine(const profile::Profile& profile);

// {"lost_events", "loss_spans", "unknown_ns", "rejected": {cause: {"count", "ns"}}}
Json MissingJson(const profile::Profile& profile);

// {"intervals", "ns"}
Json TotalJson(const analyze::SliceTotal& total);

// {name: {"count", "ns"}, ...}
Json CountersJson(const std::vector<profile::Counter>& counters);

}  // namespace offcpu::output
