// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.h"

namespace offcpu::cli {

// Exit statuses of every command (offcpu(1), EXIT STATUS).
enum ExitCode : int {
  kExitDone = 0,
  kExitFailed = 1,
  kExitIncomplete = 2,  // done, but the result is incomplete, and says so
  kExitUsage = 64,
  kExitUnsupported = 69,
  kExitPermission = 77,
};

inline int ExitCodeFor(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage: return kExitUsage;
    case ErrorCode::kUnsupported: return kExitUnsupported;
    case ErrorCode::kPermission: return kExitPermission;
    case ErrorCode::kFailed: break;
  }
  return kExitFailed;
}

}  // namespace offcpu::cli
