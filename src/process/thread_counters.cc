// SPDX-License-Identifier: MIT
#include "process/thread_counters.h"

#include <algorithm>
#include <vector>

#include "base/files.h"
#include "base/parse.h"

namespace offcpu::process {
namespace {

// "0x7fff1234"
bool ParseHex(std::string_view word, uint64_t* value) {
  return word.starts_with("0x") && ParseNumber(word.substr(2), value, 16);
}

}  // namespace

std::optional<SchedStat> ParseSchedStat(std::string_view text) {
  const std::vector<std::string_view> words = Split(Trim(text), ' ');
  SchedStat stat;
  if (words.size() != 3 || !ParseNumber(words[0], &stat.on_cpu) ||
      !ParseNumber(words[1], &stat.waiting) || !ParseNumber(words[2], &stat.switch_ins)) {
    return std::nullopt;
  }
  return stat;
}

std::optional<SwitchCounts> ParseSwitchCounts(std::string_view status) {
  constexpr std::string_view kVoluntary = "voluntary_ctxt_switches:";
  constexpr std::string_view kInvoluntary = "nonvoluntary_ctxt_switches:";
  SwitchCounts counts;
  int found = 0;
  for (std::string_view line : Split(status, '\n')) {
    if (line.starts_with(kVoluntary)) {
      if (!ParseNumber(Trim(line.substr(kVoluntary.size())), &counts.voluntary)) return {};
      ++found;
    } else if (line.starts_with(kInvoluntary)) {
      if (!ParseNumber(Trim(line.substr(kInvoluntary.size())), &counts.involuntary)) return {};
      ++found;
    }
  }
  return found == 2 ? std::optional(counts) : std::nullopt;
}

std::optional<WaitingCall> ParseWaitingCall(std::string_view text) {
  // "NUMBER six arguments SP PC", or "-1 SP PC" (fs/proc/base.c, proc_pid_syscall).
  const std::vector<std::string_view> words = Split(Trim(text), ' ');
  WaitingCall call;
  if ((words.size() != 9 && words.size() != 3) || !ParseNumber(words[0], &call.number) ||
      call.number < -1 || (words.size() == 3) != (call.number == -1)) {
    return std::nullopt;
  }
  if (!ParseHex(words[words.size() - 2], &call.stack_pointer) ||
      !ParseHex(words.back(), &call.instruction)) {
    return std::nullopt;
  }
  return call;
}

std::string_view ParseWaitChannel(std::string_view text) {
  const std::string_view name = Trim(text);
  const bool is_name =
      name.size() < 512 && name != "0" &&
      std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  return is_name ? name : std::string_view();
}

}  // namespace offcpu::process
