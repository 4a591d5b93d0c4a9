// SPDX-License-Identifier: MIT
// replaced [--cpu N] delete|PATH before|after NS: deletes its own file, or puts that of PATH in its
// place, before "ready" or after the go; then sleeps NS nanoseconds. To be run from a copy.
#include <climits>

#include "workload.h"

namespace {

[[gnu::noinline]] void WaitWithoutFile(workload::Nanos length) { workload::SleepHere(length); }

void Replace(const std::string& by) {
  char own[PATH_MAX] = {};
  if (::readlink("/proc/self/exe", own, sizeof(own) - 1) < 0) workload::Die("readlink");
  const bool good = by == "delete" ? ::unlink(own) == 0 : ::rename(by.c_str(), own) == 0;
  if (!good) workload::Die(own);
}

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = workload::Begin(argc, argv);
  if (arguments.size() < 3) return 64;
  if (arguments[1] == "before") Replace(arguments[0]);
  workload::Ready();
  if (arguments[1] == "after") Replace(arguments[0]);
  WaitWithoutFile(workload::Number(arguments, 2, 0));
  workload::Done();
}
