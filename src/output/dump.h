// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "profile/profile.h"

namespace offcpu::output {

enum class DumpFormat { kText, kJson };

// Takes a piece of output.
using Writer = std::function<Result<void>(std::string_view)>;

// Every record of a profile: start, strings, frames, nodes, threads, entries, losses, end. As text
// one line with the kind, the id and name=value pairs, or as one JSON object a line with the same
// keys. Names stand beside their ids. Fails only when `write` does.
Result<void> Dump(const profile::Profile& profile, DumpFormat format, const Writer& write);

}  // namespace offcpu::output
