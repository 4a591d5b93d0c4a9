// SPDX-License-Identifier: MIT
#include "source/select.h"

#include <fmt/format.h>

#include "source/perf/doctor.h"
#include "source/perf/perf_source.h"
#include "source/tracefs/doctor.h"
#include "source/tracefs/tracefs_source.h"

namespace offcpu::source {

const std::vector<BackEnd>& BackEnds() {
  static const std::vector<BackEnd> kBackEnds = {
      {.name = "perf",
       .gives = {.task_state = true,
                 .preemption = true,
                 .kernel_stacks = true,
                 .user_stacks = true,
                 .wakeups = true},
       .open = perf::PerfSource::Open,
       .check = perf::CheckPerf},
      {.name = "tracefs",
       .gives = {.task_state = true,
                 .preemption = true,
                 .kernel_stacks = true,
                 .user_stacks = true,  // of 8 frames at most
                 .wakeups = true},
       .open = tracefs::TracefsSource::Open,
       .check = tracefs::CheckTracefs},
  };
  return kBackEnds;
}

Result<Opened> OpenBackEnd(std::string_view name, const Request& request) {
  Opened opened;
  for (const BackEnd& back_end : BackEnds()) {
    if (name != "auto" && name != back_end.name) continue;
    auto source = back_end.open(request);
    if (source) {
      opened.back_end = &back_end;
      opened.source = std::move(*source);
      return opened;
    }
    // A mistake in the command line is one for all back ends.
    if (name != "auto" || source.error().code == ErrorCode::kUsage) return source.error();
    opened.refusals.push_back({back_end.name, source.error()});
  }
  if (!opened.refusals.empty()) return opened.refusals.front().error;
  return UsageError(fmt::format("no back end is called '{}'", name));
}

}  // namespace offcpu::source
