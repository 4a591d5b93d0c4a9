// SPDX-License-Identifier: MIT
// rename [--cpu N] NS: sleeps NS nanoseconds as "old name" and twice that as "new;name".
#include "workload.h"

namespace {

[[gnu::noinline]] void WaitUnderName(workload::Nanos length) { workload::SleepHere(length); }

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = workload::Begin(argc, argv);
  const uint64_t length = workload::Number(arguments, 0, 10'000'000);
  workload::NameThread("old name");
  workload::Ready();
  workload::Waits old_name;
  old_name.Around([&] { WaitUnderName(length); });
  workload::NameThread("new;name");
  workload::Waits new_name;
  new_name.Around([&] { WaitUnderName(2 * length); });
  old_name.Report("old");
  new_name.Report("new");
  workload::Done();
}
