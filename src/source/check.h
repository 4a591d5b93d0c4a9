// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "base/result.h"

namespace offcpu::source {

// One thing that a back end needs or can use, tried on this machine and as this user.
struct Check {
  enum class Status { kWorks, kLimited, kMissing };
  std::string name;
  Status status = Status::kWorks;
  bool needed = true;                   // without it nothing can be recorded
  std::string found;                    // what is there
  std::string remedy;                   // what to do; empty when it works
  ErrorCode code = ErrorCode::kFailed;  // of what is missing
};

inline Check Works(std::string name, std::string found) {
  Check check;
  check.name = std::move(name);
  check.found = std::move(found);
  return check;
}

inline Check Lacks(std::string name, const Error& error) {
  Check check;
  check.name = std::move(name);
  check.status = Check::Status::kMissing;
  check.found = error.message;
  check.remedy = error.hint;
  check.code = error.code;
  return check;
}

inline Check Optional(Check check) {
  check.needed = false;
  if (check.status == Check::Status::kMissing) check.status = Check::Status::kLimited;
  return check;
}

}  // namespace offcpu::source
