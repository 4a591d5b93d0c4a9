// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "profile/profile.h"

// How names are written in stacks: what filters search, what collapsed lines and flame graphs show.
namespace offcpu::analyze {

// What stands for a stack that an interval does not have.
constexpr std::string_view kNoUserStack = "[user stack unavailable]";
constexpr std::string_view kNoKernelStack = "[kernel stack unavailable]";

// A name as one frame of a stack line: ';' becomes ':', CR and LF a space. All other bytes stay.
std::string EscapeFrame(std::string_view name);

// The function's name, without "+0x1a" and escaped; of a nameless frame "[module]", or "[unknown]"
// when that is empty, too; of code without a symbol "libc.so.6+0x2a0". Kernel functions end in
// "_[k]".
std::string FrameText(const profile::Profile& profile, profile::FrameId id);

// The text of every frame of a profile, made once. Position = FrameId; element 0 is empty.
std::vector<std::string> FrameTexts(const profile::Profile& profile);

// Process and thread names as frames: escaped, "[unknown process]" and "[unknown thread]" when
// empty.
std::string ProcessFrame(std::string_view name);
std::string ThreadFrame(std::string_view name);

// The name of the pool that a thread belongs to: every run of decimal digits becomes '#'.
std::string PoolName(std::string_view thread_name);

// Whether the absent user stack of an entry is shown as kNoUserStack: threads of the kernel never
// have one, so nothing is missing there.
inline bool MissesUserStack(const profile::Profile& profile, const profile::Entry& entry) {
  return entry.user_stack == 0 && !profile.threads[entry.thread].kernel_thread;
}

}  // namespace offcpu::analyze
