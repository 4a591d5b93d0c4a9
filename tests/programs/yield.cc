// SPDX-License-Identifier: MIT
// yield [--cpu N] COUNT: two threads give way to each other, COUNT times each.
#include "workload.h"

namespace {

[[gnu::noinline]] void GiveWay() { workload::Call(SYS_sched_yield); }

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = workload::Begin(argc, argv);
  const uint64_t count = workload::Number(arguments, 0, 1000);
  workload::Crew crew;
  for (const char* name : {"polite", "courteous"}) {
    crew.Add(name, [=] {
      for (uint64_t i = 0; i < count; ++i) GiveWay();
    });
  }
  workload::Ready();
  crew.Work();
  workload::Done();
  crew.Leave();
}
