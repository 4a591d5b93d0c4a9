// SPDX-License-Identifier: MIT
#include "tests/support/live_counters.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/parse.h"

namespace offcpu::live {
namespace {

constexpr size_t kLeftOutFields = 3;

constexpr Nanos kPatience = 60 * kNanosPerSecond;

std::string TaskFile(pid_t pid, pid_t tid, const char* name) {
  return "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/" + name;
}

bool Field(std::string_view text, std::string_view name, uint64_t* value) {
  for (std::string_view line : Split(text, '\n')) {
    if (line.substr(0, name.size()) == name)
      return ParseNumber(Trim(line.substr(name.size())), value);
  }
  return false;
}

Nanos Tick() { return kNanosPerSecond / static_cast<Nanos>(::sysconf(_SC_CLK_TCK)); }

}  // namespace

Counters operator-(const Counters& second, const Counters& first) {
  return {second.voluntary - first.voluntary, second.involuntary - first.involuntary,
          second.on_cpu - first.on_cpu, second.waiting - first.waiting,
          second.switch_ins - first.switch_ins};
}

std::optional<Counters> ReadCounters(pid_t pid, pid_t tid) {
  const auto status = ReadSmallFile(TaskFile(pid, tid, "status"));
  const auto schedstat = ReadSmallFile(TaskFile(pid, tid, "schedstat"));
  if (!status || !schedstat) return std::nullopt;
  Counters counters;
  const auto fields = Split(Trim(*schedstat), ' ');
  const bool good = Field(*status, "voluntary_ctxt_switches:", &counters.voluntary) &&
                    Field(*status, "nonvoluntary_ctxt_switches:", &counters.involuntary) &&
                    fields.size() == 3 && ParseNumber(fields[0], &counters.on_cpu) &&
                    ParseNumber(fields[1], &counters.waiting) &&
                    ParseNumber(fields[2], &counters.switch_ins);
  return good ? std::optional(counters) : std::nullopt;
}

bool IsAsleep(pid_t pid, const SleepingPlace& place) {
  const auto text = ReadSmallFile(TaskFile(pid, place.tid, "syscall"));
  if (!text) return false;
  const auto fields = Split(Trim(*text), ' ');
  long number = 0;
  return !fields.empty() && ParseNumber(fields[0], &number) && number == place.number;
}

Counters ReadAsleep(pid_t pid, const SleepingPlace& place) {
  for (const Nanos begin = MonotonicNow(); MonotonicNow() - begin < kPatience; ::usleep(500)) {
    if (!IsAsleep(pid, place)) continue;
    const auto counters = ReadCounters(pid, place.tid);
    if (!counters) break;
    EXPECT_TRUE(IsAsleep(pid, place) && ReadCounters(pid, place.tid) == counters)
        << "thread " << place.tid << " was woken while its counters were read";
    return *counters;
  }
  ADD_FAILURE() << "thread " << place.tid << " does not sleep in system call " << place.number;
  return {};
}

Nanos LeftOutTime() {
  const auto text = ReadSmallFile("/proc/stat");
  Nanos sum = 0;
  if (!text) return 0;
  // cpu  user nice system idle iowait irq softirq steal: two blanks after "cpu".
  const auto fields = Split(Split(*text, '\n')[0], ' ');
  for (size_t i = 7; i < 7 + kLeftOutFields && i < fields.size(); ++i) {
    uint64_t ticks = 0;
    if (ParseNumber(fields[i], &ticks)) sum += ticks * Tick();
  }
  return sum;
}

Nanos LeftOutSince(Nanos before) { return LeftOutTime() - before + kLeftOutFields * Tick(); }

bool IsRealTimeKernel() {
  utsname kernel{};
  EXPECT_EQ(::uname(&kernel), 0);
  return std::string_view(kernel.version).find("PREEMPT_RT") != std::string_view::npos;
}

}  // namespace offcpu::live
