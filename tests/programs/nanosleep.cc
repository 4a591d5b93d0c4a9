// SPDX-License-Identifier: MIT
// nanosleep [--cpu N] {COUNT NS}...: sleeps COUNT times NS nanoseconds, for each pair.
#include "workload.h"

namespace {

[[gnu::noinline]] void WaitInNanosleep(workload::Nanos length) { workload::SleepHere(length); }

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = workload::Begin(argc, argv);
  workload::Ready();
  for (size_t i = 0; i + 1 < arguments.size(); i += 2) {
    workload::Waits waits;
    const uint64_t length = workload::Number(arguments, i + 1, 0);
    for (uint64_t left = workload::Number(arguments, i, 0); left > 0; --left) {
      waits.Around([&] { WaitInNanosleep(length); });
    }
    waits.Report("nanosleep");
  }
  workload::Done();
}
