// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace offcpu::source::perf {

// One thing that the `perf` back end needs or can use.
struct Check {
  enum class Status { kWorks, kLimited, kMissing };
  std::string name;
  Status status = Status::kWorks;
  bool needed = true;                   // without it nothing can be recorded
  std::string found;                    // what is there
  std::string remedy;                   // what to do; empty when it works
  ErrorCode code = ErrorCode::kFailed;  // of what is missing
};

// Tries everything that a recording would do, on this machine and as this user, and undoes it.
std::vector<Check> CheckPerf();

}  // namespace offcpu::source::perf
