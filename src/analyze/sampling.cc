// SPDX-License-Identifier: MIT
#include "analyze/sampling.h"

#include <algorithm>
#include <cmath>

namespace offcpu::analyze {

Nanos SamplingError(const profile::Profile& profile, const TimeByThread& times) {
  double variance = 0;
  for (const auto& [id, ns] : times) {
    const profile::Thread& thread = profile.threads[id];
    const auto whole = static_cast<double>(thread.blocked_ns());
    if (whole == 0) continue;
    const double share = std::min(1.0, static_cast<double>(ns) / whole);
    const double error =
        thread.samples == 0
            ? static_cast<double>(ns) / 2
            : whole * std::sqrt(share * (1 - share) / static_cast<double>(thread.samples));
    variance += error * error;
  }
  return static_cast<Nanos>(std::llround(std::min(std::sqrt(variance), 9e18)));
}

}  // namespace offcpu::analyze
