// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>

#include "analyze/rank.h"
#include "profile/profile.h"

// A ranking as a table; the first `limit` rows of it, and what the others add up to.
namespace offcpu::output {

std::string TopText(const profile::Profile& profile, const analyze::Ranking& ranking, size_t limit);
std::string TopJson(const profile::Profile& profile, const analyze::Ranking& ranking, size_t limit);
std::string TopCsv(const profile::Profile& profile, const analyze::Ranking& ranking, size_t limit);

}  // namespace offcpu::output
