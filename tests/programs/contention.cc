// SPDX-License-Identifier: MIT
// contention [--cpu N] THREADS NS [born]: THREADS threads compute until each had NS nanoseconds of
// a CPU; with `born` they are started after the go.
#include "workload.h"

namespace {

// Asks for its CPU time rarely: the kernel likes to take the CPU away at the end of that call.
[[gnu::noinline]] void ComputeFor(workload::Nanos length) {
  const workload::Nanos begin = workload::ReadClock(CLOCK_THREAD_CPUTIME_ID);
  do {
    for (int i = 0; i < 40'000'000; ++i) asm volatile("" ::: "memory");
  } while (workload::ReadClock(CLOCK_THREAD_CPUTIME_ID) - begin < length);
}

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = workload::Begin(argc, argv);
  const uint64_t threads = workload::Number(arguments, 0, 3);
  const uint64_t length = workload::Number(arguments, 1, 100'000'000);
  const bool born = arguments.size() > 2;
  workload::Crew crew;
  const auto start = [&] {
    for (uint64_t i = 0; i < threads; ++i) crew.Add("spinner", [=] { ComputeFor(length); });
  };
  if (!born) start();
  workload::Ready();
  if (born) start();
  crew.Work();
  workload::Done();
  crew.Leave();
}
