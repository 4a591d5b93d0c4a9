// SPDX-License-Identifier: MIT
#include "record/forecast.h"

#include <time.h>

#include <map>
#include <utility>

#include "base/files.h"
#include "base/parse.h"
#include "process/proc_reader.h"
#include "process/process_table.h"
#include "record/follower.h"
#include "record/source_request.h"
#include "source/host.h"
#include "source/select.h"

namespace offcpu::record {
namespace {

// With chains: both halves, thirty frames, which is what programs have; without: a sample of
// sched_switch and one of sched_wakeup.
constexpr uint64_t kPlainBytes = 104 + 88;
constexpr uint64_t kChainBytes = 30 * 8;

struct Counts {
  Nanos time = 0;
  uint64_t machine = 0;
  std::map<model::Tid, uint64_t> threads;
};

Result<uint64_t> MachineSwitches() {
  constexpr const char* kPath = "/proc/stat";
  const auto text = ReadSmallFile(kPath);
  if (!text) return text.error();
  for (std::string_view line : Split(*text, '\n')) {
    uint64_t count = 0;
    if (line.starts_with("ctxt ") && ParseNumber(Trim(line.substr(5)), &count)) return count;
  }
  return Failed("find the number of context switches in /proc/stat");
}

Result<Counts> Count(const Target& target) {
  Counts counts;
  counts.time = MonotonicNow();
  auto machine = MachineSwitches();
  if (!machine) return machine.error();
  counts.machine = *machine;
  if (target.kind == Target::Kind::kAll || target.kind == Target::Kind::kCommand) return counts;
  process::ProcessTable processes;
  Follower follower(target, processes);
  follower.AddExistingProcesses();
  for (const auto& [pid, tid] : follower.ExistingThreads()) {
    if (const auto count = process::ReadSwitchCount(pid, tid)) counts.threads[tid] = *count;
  }
  return counts;
}

SwitchRates RatesBetween(const Target& target, const Counts& before, const Counts& after) {
  SwitchRates rates;
  rates.measured = after.time - before.time;
  const double seconds = static_cast<double>(rates.measured) / kNanosPerSecond;
  rates.machine = static_cast<double>(after.machine - before.machine) / seconds;
  if (target.kind == Target::Kind::kCommand) return rates;
  if (target.kind == Target::Kind::kAll) {
    rates.target = rates.machine;
    return rates;
  }
  uint64_t switches = 0;
  for (const auto& [tid, count] : after.threads) {
    const auto earlier = before.threads.find(tid);
    if (earlier == before.threads.end() || earlier->second > count) continue;
    switches += count - earlier->second;
    ++rates.target_threads;
  }
  rates.target = static_cast<double>(switches) / seconds;
  return rates;
}

void SleepUntil(Nanos time) {
  const timespec until{static_cast<time_t>(time / kNanosPerSecond),
                       static_cast<long>(time % kNanosPerSecond)};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

}  // namespace

Result<Forecast> MakeForecast(const Options& options) {
  process::ProcessTable nobody;
  if (auto checked = Follower(options.target, nobody).Check(); !checked) return checked.error();
  Forecast forecast;
  {
    auto opened = source::OpenBackEnd(options.backend, RequestOf(options));
    if (!opened) return opened.error();
    const source::BackEnd& back_end = *opened->back_end;
    forecast.back_end = back_end.name;
    forecast.better = source::DescribeRefusals(opened->refusals);
    if (opened->source) {
      forecast.warnings = opened->source->warnings();
      forecast.cpus = opened->source->cpu_count();
    } else {
      forecast.warnings = {
          "samples cost no switch anything; the recorder takes up to 2 % of a CPU"};
      const auto cpus = source::OnlineCpus();
      forecast.cpus = cpus ? cpus->size() : 0;
    }
    forecast.pays_for_machine = back_end.cost.whole_machine;
    const bool kernel = options.kernel_stacks && back_end.gives.kernel_stacks;
    const bool user = options.user_stacks && back_end.gives.user_stacks;
    forecast.switch_us = user     ? back_end.cost.both_chains_us
                         : kernel ? back_end.cost.kernel_chain_us
                                  : back_end.cost.plain_us;
    forecast.reader_us = back_end.cost.reader_us;
    forecast.bytes_a_switch = kPlainBytes + (kernel || user ? kChainBytes : 0);
  }
  auto before = Count(options.target);
  if (!before) return before.error();
  SleepUntil(before->time + options.duration.value_or(kNanosPerSecond));
  auto after = Count(options.target);
  if (!after) return after.error();
  forecast.rates = RatesBetween(options.target, *before, *after);
  return forecast;
}

}  // namespace offcpu::record
