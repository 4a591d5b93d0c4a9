// SPDX-License-Identifier: MIT
// pool [--cpu N] COUNT NS AT_ONCE: COUNT threads, AT_ONCE of them at a time, are born, sleep NS
// nanoseconds and die. Says "lived TID VOLUNTARY INVOLUNTARY" for each: its counters shortly before
// its end.
#include "workload.h"

namespace {

struct Life {
  pid_t tid = 0;
  unsigned long long voluntary = 0;
  unsigned long long involuntary = 0;
};

[[gnu::noinline]] void WaitInPool(workload::Nanos length) { workload::SleepHere(length); }

void ReadCounters(Life* life) {
  std::FILE* file = std::fopen("/proc/thread-self/status", "re");
  if (file == nullptr) workload::Die("/proc/thread-self/status");
  char line[256];
  while (std::fgets(line, sizeof(line), file) != nullptr) {
    std::sscanf(line, "voluntary_ctxt_switches: %llu", &life->voluntary);
    std::sscanf(line, "nonvoluntary_ctxt_switches: %llu", &life->involuntary);
  }
  std::fclose(file);
}

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = workload::Begin(argc, argv);
  std::vector<Life> lives(workload::Number(arguments, 0, 500));
  const uint64_t length = workload::Number(arguments, 1, 1'000'000);
  const size_t at_once = workload::Number(arguments, 2, 10);
  workload::Ready();
  for (size_t first = 0; first < lives.size(); first += at_once) {
    std::vector<std::thread> wave;
    for (size_t i = first; i < std::min(lives.size(), first + at_once); ++i) {
      wave.emplace_back([life = &lives[i], length] {
        life->tid = workload::Tid();
        WaitInPool(length);
        ReadCounters(life);
      });
    }
    for (std::thread& thread : wave) thread.join();
  }
  for (const Life& life : lives) {
    workload::Say("lived %d %llu %llu", life.tid, life.voluntary, life.involuntary);
  }
  workload::Done();
}
