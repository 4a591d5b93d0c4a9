// SPDX-License-Identifier: MIT
// signals [--cpu N] futex|nanosleep COUNT: "target" waits again and again while "sender" sends it
// COUNT signals as fast as it can.
#include <csignal>

#include "workload.h"

namespace {

workload::FutexWord stop{0};

[[gnu::noinline]] void WaitInFutex() { workload::FutexWait(&stop, 0); }
[[gnu::noinline]] void WaitInNanosleep() { workload::SleepHere(100'000); }

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = workload::Begin(argc, argv);
  const bool by_futex = arguments.empty() || arguments[0] == "futex";
  struct sigaction action {};
  action.sa_handler = [](int) {};
  ::sigaction(SIGUSR1, &action, nullptr);
  workload::Crew crew;
  const pid_t target = crew.Add("target", [=] {
    while (stop.load() == 0) by_futex ? WaitInFutex() : WaitInNanosleep();
  });
  crew.Add("sender", [&] {
    for (uint64_t left = workload::Number(arguments, 1, 5000); left > 0; --left) {
      ::syscall(SYS_tgkill, ::getpid(), target, SIGUSR1);
    }
    stop.store(1);
    workload::FutexWake(&stop, 1);
  });
  workload::Ready();
  crew.Work();
  workload::Done();
  crew.Leave();
}
