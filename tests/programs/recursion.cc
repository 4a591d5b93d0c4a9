// SPDX-License-Identifier: MIT
// recursion [--cpu N] LEVELS NS: sleeps NS nanoseconds below LEVELS calls of Descend.
#include "workload.h"

namespace {

[[gnu::noinline]] void WaitAtBottom(workload::Nanos length) { workload::SleepHere(length); }

[[gnu::noinline]] void Descend(uint64_t levels, workload::Nanos length) {
  if (levels > 1) {
    Descend(levels - 1, length);
  } else {
    WaitAtBottom(length);
  }
  asm volatile("");  // no tail call
}

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = workload::Begin(argc, argv);
  workload::Ready();
  workload::Waits waits;
  waits.Around([&] {
    Descend(workload::Number(arguments, 0, 300), workload::Number(arguments, 1, 5'000'000));
  });
  waits.Report("bottom");
  workload::Done();
}
