// SPDX-License-Identifier: MIT
// zombie [--cpu N] COUNT NS: a child sleeps COUNT times NS nanoseconds and exits; it is reaped only
// after the line that follows "done". Says "child PID".
#include <sys/wait.h>

#include "workload.h"

namespace {

[[gnu::noinline]] void WaitInChild(workload::Nanos length) { workload::SleepHere(length); }

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = workload::Begin(argc, argv);
  workload::Ready();
  const pid_t child = ::fork();
  if (child < 0) workload::Die("fork");
  if (child == 0) {
    for (uint64_t left = workload::Number(arguments, 0, 3); left > 0; --left) {
      WaitInChild(workload::Number(arguments, 1, 5'000'000));
    }
    std::_Exit(0);
  }
  workload::Say("child %d", child);
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  workload::Done();
  ::waitpid(child, nullptr, 0);
}
