// SPDX-License-Identifier: MIT
// nested [--cpu N] NS: Outer sleeps NS and calls Middle, which sleeps twice that and calls Inner,
// which sleeps three times that.
#include "workload.h"

namespace {

using workload::Nanos;

workload::Waits outer;
workload::Waits middle;
workload::Waits inner;

[[gnu::noinline]] void Inner(Nanos unit) {
  const Nanos begin = workload::Now();
  workload::SleepHere(3 * unit);
  inner = {1, workload::Now() - begin};
}

[[gnu::noinline]] void Middle(Nanos unit) {
  const Nanos begin = workload::Now();
  workload::SleepHere(2 * unit);
  middle = {1, workload::Now() - begin};
  Inner(unit);
}

[[gnu::noinline]] void Outer(Nanos unit) {
  const Nanos begin = workload::Now();
  workload::SleepHere(unit);
  outer = {1, workload::Now() - begin};
  Middle(unit);
}

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = workload::Begin(argc, argv);
  workload::Ready();
  Outer(workload::Number(arguments, 0, 20'000'000));
  outer.Report("outer");
  middle.Report("middle");
  inner.Report("inner");
  workload::Done();
}
