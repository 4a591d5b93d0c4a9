// SPDX-License-Identifier: MIT
#include "source/select.h"

#include <algorithm>

#include <fmt/format.h>

#include "source/bpf/bpf_source.h"
#include "source/perf/doctor.h"
#include "source/perf/perf_source.h"
#include "source/perf/switch_source.h"
#include "source/proc/doctor.h"
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
       .cost = {.plain_us = 1.4,
                .kernel_chain_us = 3.05,
                .both_chains_us = 3.5,
                .reader_us = 0.25,
                .whole_machine = true},
       .open = perf::PerfSource::Open,
       .check = perf::CheckPerf},
      {.name = "bpf",
       .gives = {.task_state = true,
                 .preemption = true,
                 .kernel_stacks = true,
                 .user_stacks = true,
                 .wakeups = true},
       .cost = {.plain_us = 0.3,
                .kernel_chain_us = 1.8,
                .both_chains_us = 2.6,
                .reader_us = 0.25,
                .whole_machine = true},
       .open = bpf::BpfSource::Open,
       .check = bpf::CheckBpf},
      {.name = "switch",
       .gives = {.kernel_stacks = true, .user_stacks = true},
       .cost = {.plain_us = 1.0,
                .kernel_chain_us = 3.0,
                .both_chains_us = 3.5,
                .reader_us = 0.25,
                .whole_machine = true},
       .open = perf::SwitchSource::Open,
       .check = perf::CheckSwitch},
      {.name = "tracefs",
       .gives = {.task_state = true,
                 .preemption = true,
                 .kernel_stacks = true,
                 .user_stacks = true,  // of 8 frames at most
                 .wakeups = true},
       .cost = {.plain_us = 0.6,
                .kernel_chain_us = 3.0,
                .both_chains_us = 3.95,
                .reader_us = 0.3,
                .whole_machine = true},
       .open = tracefs::TracefsSource::Open,
       .check = tracefs::CheckTracefs},
      {.name = "proc",
       .gives = {.task_state = true, .kernel_stacks = true},
       .cost = {},
       .open = nullptr,
       .check = proc::CheckProc},
  };
  return kBackEnds;
}

namespace {

constexpr std::string_view kSeePage = "; see offcpu-permissions(7)";

// Selections that would choose by what was never told.
Result<void> CheckRequest(const BackEnd& back_end, const Request& request) {
  const auto refuse = [&](std::string_view what, std::string hint) {
    return MakeError(ErrorCode::kUnsupported,
                     fmt::format("the {} back end can't tell {}", back_end.name, what),
                     std::move(hint));
  };
  if (request.task_states && !back_end.gives.task_state) {
    return refuse("task states, and --state chooses by them", "leave out --state");
  }
  if (request.chain_reasons.runnable != request.chain_reasons.preempted &&
      !back_end.gives.preemption) {
    return refuse("runnable from preempted", "ask for both or for neither with --reasons");
  }
  return {};
}

Result<std::unique_ptr<Source>> TryOpen(const BackEnd& back_end, const Request& request) {
  if (auto possible = CheckRequest(back_end, request); !possible) return possible.error();
  if (back_end.open == nullptr) return std::unique_ptr<Source>();
  return back_end.open(request);
}

std::string Names() {
  std::vector<std::string_view> names;
  for (const BackEnd& back_end : BackEnds()) names.push_back(back_end.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

Result<Opened> OpenBackEnd(std::string_view name, const Request& request) {
  Opened opened;
  for (const BackEnd& back_end : BackEnds()) {
    if (name != "auto" && name != back_end.name) continue;
    auto source = TryOpen(back_end, request);
    if (source) {
      opened.back_end = &back_end;
      opened.source = std::move(*source);
      return opened;
    }
    // A mistake in the command line is one for all back ends.
    if (name != "auto" || source.error().code == ErrorCode::kUsage) return source.error();
    opened.refusals.push_back({&back_end, source.error()});
  }
  if (!opened.refusals.empty()) return opened.refusals.front().error;
  return UsageError(fmt::format("no back end is called '{}'", name), "there are: auto, " + Names());
}

std::string DescribeRefusals(const std::vector<Refusal>& refusals) {
  if (refusals.empty()) return "";
  const auto& [back_end, error] = refusals.front();
  std::vector<std::string> needs;
  for (const Check& check : back_end->check()) {
    const bool missing = check.needed && check.status == Check::Status::kMissing;
    if (!missing || check.remedy.empty()) continue;
    // The page is named once, at the end.
    const std::string need = check.remedy.substr(0, check.remedy.find(kSeePage));
    if (std::find(needs.begin(), needs.end(), need) == needs.end()) needs.push_back(need);
  }
  if (needs.empty()) needs.push_back(error.hint.empty() ? error.message : error.hint);
  std::string text = fmt::format("{} would need: {}", back_end->name, fmt::join(needs, "; "));
  if (text.find(kSeePage) == std::string::npos) text += kSeePage;
  return text;
}

}  // namespace offcpu::source
