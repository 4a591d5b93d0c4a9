// SPDX-License-Identifier: MIT
#pragma once

#include <map>

#include "base/clock.h"
#include "profile/profile.h"

// How far the times of a sampled profile (profile::Origin::sample_hz) may be off.
namespace offcpu::analyze {

// Time under one heading, by thread.
using TimeByThread = std::map<profile::ThreadId, Nanos>;

// The standard error of that time: of each thread a share p of its blocked time, which is exact,
// was estimated from n samples, so it is off by sqrt(p (1 - p) / n) of it; threads are independent.
// All of a thread's blocked time has no error. Without samples p is unknown: then half of the time.
Nanos SamplingError(const profile::Profile& profile, const TimeByThread& times);

}  // namespace offcpu::analyze
