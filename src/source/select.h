// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "source/check.h"
#include "source/source.h"

namespace offcpu::source {

// What a back end can tell at best.
struct Gives {
  bool task_state = false;
  bool preemption = false;  // told apart from "runnable"
  bool kernel_stacks = false;
  bool user_stacks = false;
  bool wakeups = false;  // so that sleeping and run-queue time are told apart
};

// What it adds to a context switch, in microseconds: measured on a KVM guest with Linux 6.18 and
// two CPUs; a figure for forecasts, which may be half or twice as much elsewhere.
struct Cost {
  double plain_us = 0;
  double kernel_chain_us = 0;
  double both_chains_us = 0;
  double reader_us = 0;        // CPU time of the reader for a switch
  bool whole_machine = false;  // each switch of the machine costs, not only those of the target
};

struct BackEnd {
  std::string_view name;
  Gives gives;
  Cost cost;
  // Not set: it brings no events; the recorder looks at the threads itself.
  Result<std::unique_ptr<Source>> (*open)(const Request& request);
  std::vector<Check> (*check)();
};

// All that are built in, the best first.
const std::vector<BackEnd>& BackEnds();

// A back end that did not serve, and why.
struct Refusal {
  const BackEnd* back_end = nullptr;
  Error error;
};

struct Opened {
  const BackEnd* back_end = nullptr;
  std::unique_ptr<Source> source;  // absent: a back end without `open`
  std::vector<Refusal> refusals;   // of better ones, in their order
};

// Opens the back end of that name, or with "auto" the first that works and can honour the request.
// What it cannot give is among the source's warnings. Errors: kUsage for an unknown name;
// kUnsupported where the request has no meaning without something that the back end cannot tell;
// that of the back end, with "auto" of the best one.
Result<Opened> OpenBackEnd(std::string_view name, const Request& request);

// What the best of them would need, all of it: one line, "" where there is none. Tries what it
// needs once more.
std::string DescribeRefusals(const std::vector<Refusal>& refusals);

}  // namespace offcpu::source
