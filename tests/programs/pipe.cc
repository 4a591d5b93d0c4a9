// SPDX-License-Identifier: MIT
// pipe [--cpu N] ROUNDS: "ping" and "pong" send a byte to and fro through two pipes.
#include "workload.h"

namespace {

[[gnu::noinline]] void WaitInPipe(int fd) {
  char byte = 0;
  if (workload::Call(SYS_read, fd, workload::Address(&byte), 1) != 1) std::_Exit(1);
}

void Send(int fd) {
  if (::write(fd, "x", 1) != 1) workload::Die("write");
}

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = workload::Begin(argc, argv);
  const uint64_t rounds = workload::Number(arguments, 0, 1000);
  int there[2];
  int back[2];
  if (::pipe(there) != 0 || ::pipe(back) != 0) workload::Die("pipe");
  workload::Waits ping;
  workload::Waits pong;
  workload::Crew crew;
  crew.Add("ping", [&] {
    for (uint64_t i = 0; i < rounds; ++i) {
      Send(there[1]);
      ping.Around([&] { WaitInPipe(back[0]); });
    }
  });
  crew.Add("pong", [&] {
    for (uint64_t i = 0; i < rounds; ++i) {
      pong.Around([&] { WaitInPipe(there[0]); });
      Send(back[1]);
    }
  });
  workload::Ready();
  crew.Work();
  ping.Report("ping");
  pong.Report("pong");
  workload::Done();
  crew.Leave();
}
