// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace offcpu {

// Lines for people on standard error, "offcpu: " in front. Only cli/ and record/ call these.
enum class LogLevel { kQuiet, kNormal, kVerbose };

void SetLogLevel(LogLevel level);
LogLevel GetLogLevel();

void LogWarning(std::string_view text);  // always, also with -q
void LogInfo(std::string_view text);     // not with -q
void LogVerbose(std::string_view text);  // only with -v

}  // namespace offcpu
