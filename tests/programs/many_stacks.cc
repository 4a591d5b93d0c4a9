// SPDX-License-Identifier: MIT
// many_stacks [--cpu N] sleep THREADS STACKS: each thread sleeps once in each of STACKS places that
//     no other thread sleeps in (at most 10,000 places in all).
// many_stacks [--cpu N] pipe ROUNDS...: two threads send a byte to and fro, at most 10,000 times;
// each
//     of a thread's waits has a stack of its own. Says "phase" and waits for a line between counts.
#include "workload.h"

namespace {

using Wait = std::function<void()>;

void Next(unsigned path, int depth, const Wait& wait);

template <unsigned kDigit>
[[gnu::noinline]] void Turn(unsigned path, int depth, const Wait& wait) {
  Next(path / 10, depth - 1, wait);
  asm volatile("" ::"i"(kDigit));  // no two of these are the same code, and no tail call
}

// Calls one of ten functions for each of four digits, then waits: 10,000 different stacks.
[[gnu::noinline]] void Next(unsigned path, int depth, const Wait& wait) {
  static constexpr void (*kTurns[])(unsigned, int, const Wait&) = {
      Turn<0>, Turn<1>, Turn<2>, Turn<3>, Turn<4>, Turn<5>, Turn<6>, Turn<7>, Turn<8>, Turn<9>};
  if (depth == 0) {
    wait();
  } else {
    kTurns[path % 10](path, depth, wait);
  }
  asm volatile("");
}

void WaitAlong(unsigned path, const Wait& wait) { Next(path, 4, wait); }

[[gnu::noinline]] void WaitInNanosleep() { workload::SleepHere(1'000'000); }

[[gnu::noinline]] void WaitInPipe(int fd) {
  char byte = 0;
  if (workload::Call(SYS_read, fd, workload::Address(&byte), 1) != 1) std::_Exit(1);
}

void Send(int fd) {
  if (::write(fd, "x", 1) != 1) workload::Die("write");
}

void Sleepers(uint64_t threads, uint64_t stacks) {
  workload::Crew crew;
  for (uint64_t i = 0; i < threads; ++i) {
    crew.Add("sleeper", [=] {
      for (uint64_t k = 0; k < stacks; ++k) {
        WaitAlong(static_cast<unsigned>(i * stacks + k), WaitInNanosleep);
      }
    });
  }
  workload::Ready();
  crew.Work();
  workload::Done();
  crew.Leave();
}

void PingPong(const std::vector<uint64_t>& phases) {
  int there[2];
  int back[2];
  if (::pipe(there) != 0 || ::pipe(back) != 0) workload::Die("pipe");
  uint64_t total = 0;
  for (uint64_t rounds : phases) total += rounds;
  workload::Crew crew;
  crew.Add("ping", [&] {
    unsigned path = 0;
    for (size_t phase = 0; phase < phases.size(); ++phase) {
      if (phase > 0) {
        workload::Say("phase");
        workload::WaitForLine();
      }
      const workload::Nanos begin = workload::Now();
      for (uint64_t i = 0; i < phases[phase]; ++i, ++path) {
        Send(there[1]);
        WaitAlong(path, [&] { WaitInPipe(back[0]); });
      }
      workload::Say("took %llu", static_cast<unsigned long long>(workload::Now() - begin));
    }
  });
  crew.Add("pong", [&] {
    for (unsigned path = 0; path < total; ++path) {
      WaitAlong(path, [&] { WaitInPipe(there[0]); });
      Send(back[1]);
    }
  });
  workload::Ready();
  crew.Work();
  workload::Done();
  crew.Leave();
}

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = workload::Begin(argc, argv);
  if (arguments.size() < 2) return 64;
  if (arguments[0] == "sleep") {
    Sleepers(workload::Number(arguments, 1, 0), workload::Number(arguments, 2, 0));
  } else {
    std::vector<uint64_t> phases;
    for (size_t i = 1; i < arguments.size(); ++i)
      phases.push_back(workload::Number(arguments, i, 0));
    PingPong(phases);
  }
}
