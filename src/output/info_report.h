// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "profile/profile.h"

// What is in a profile, what is missing first.
namespace offcpu::output {

std::string InfoText(const profile::Profile& profile);
std::string InfoJson(const profile::Profile& profile);

}  // namespace offcpu::output
