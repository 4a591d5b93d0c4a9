// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "profile/profile.h"

// The thread accounts of a profile, one row a thread, in the order given.
namespace offcpu::output {

std::string ThreadsText(const profile::Profile& profile,
                        const std::vector<profile::ThreadId>& order);
std::string ThreadsJson(const profile::Profile& profile,
                        const std::vector<profile::ThreadId>& order);
std::string ThreadsCsv(const profile::Profile& profile,
                       const std::vector<profile::ThreadId>& order);

}  // namespace offcpu::output
