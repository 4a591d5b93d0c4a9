// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace offcpu::cli {

// The words of this program's command line, for the profile.
std::string OwnCommandLine();

}  // namespace offcpu::cli
