// SPDX-License-Identifier: MIT
// exec [--cpu N] leader|thread NS: the named thread waits for the go, sleeps NS nanoseconds,
// becomes this program anew by execve, and sleeps NS nanoseconds again.
#include "workload.h"

namespace {

[[gnu::noinline]] void WaitBeforeExec(workload::Nanos length) { workload::SleepHere(length); }
[[gnu::noinline]] void WaitAfterExec(workload::Nanos length) { workload::SleepHere(length); }

void BecomeAnew(const std::string& length) {
  workload::NameThread("before-exec");
  workload::Say("thread subject %d", workload::Tid());
  workload::Ready();
  workload::Waits waits;
  waits.Around([&] { WaitBeforeExec(std::stoull(length)); });
  waits.Report("before");
  ::execl("/proc/self/exe", "after-exec", "after", length.c_str(), nullptr);
  workload::Die("execl");
}

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = workload::Begin(argc, argv);
  if (arguments.size() < 2) return 64;
  if (arguments[0] == "after") {
    workload::Waits waits;
    waits.Around([&] { WaitAfterExec(workload::Number(arguments, 1, 0)); });
    waits.Report("after");
    workload::Done();
    return 0;
  }
  if (arguments[0] == "leader") {
    BecomeAnew(arguments[1]);
  } else {
    std::thread(BecomeAnew, arguments[1]).join();
  }
}
