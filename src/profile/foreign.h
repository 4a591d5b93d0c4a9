// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace offcpu::profile {

// "NAME is not an offcpu profile: ..." with what it looks like instead.
Error NotAProfile(std::string_view bytes, const std::string& name);

}  // namespace offcpu::profile
