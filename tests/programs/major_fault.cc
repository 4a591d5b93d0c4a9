// SPDX-License-Identifier: MIT
// major_fault [--cpu N] FOLDER COUNT: touches COUNT mapped pages that have to come from a disk.
// Says "majors N": how many faults did.
#include <sys/mman.h>
#include <sys/resource.h>

#include "scratch.h"

namespace {

constexpr size_t kStride = 1 << 16;

[[gnu::noinline]] void WaitForPage(const volatile char* page) { (void)*page; }

long MajorFaults() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_majflt;
}

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = workload::Begin(argc, argv);
  if (arguments.empty()) return 64;
  const uint64_t count = workload::Number(arguments, 1, 50);
  const int fd = workload::OpenScratch(arguments[0], count * kStride, 0);
  void* memory = ::mmap(nullptr, count * kStride, PROT_READ, MAP_PRIVATE, fd, 0);
  if (memory == MAP_FAILED) workload::Skip("map a file");
  ::madvise(memory, count * kStride, MADV_RANDOM);
  workload::Ready();
  workload::Waits waits;
  const long before = MajorFaults();
  for (uint64_t i = 0; i < count; ++i) {
    waits.Around([&] { WaitForPage(static_cast<const char*>(memory) + i * kStride); });
  }
  workload::Say("majors %ld", MajorFaults() - before);
  waits.Report("fault");
  workload::Done();
}
