// SPDX-License-Identifier: MIT
// disk [--cpu N] FOLDER COUNT: reads COUNT blocks of a file in FOLDER past the page cache.
#include "scratch.h"

namespace {

constexpr size_t kBlock = 4096;

[[gnu::noinline]] long WaitForDisk(int fd, void* buffer, size_t offset) {
  return workload::Call(SYS_pread64, fd, workload::Address(buffer), kBlock,
                        static_cast<long>(offset));
}

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = workload::Begin(argc, argv);
  if (arguments.empty()) return 64;
  const uint64_t count = workload::Number(arguments, 1, 50);
  const int fd = workload::OpenScratch(arguments[0], count * kBlock, O_DIRECT);
  void* buffer = std::aligned_alloc(kBlock, kBlock);
  if (const long got = WaitForDisk(fd, buffer, 0); got < 0) {
    workload::Skip("read past the page cache", static_cast<int>(-got));
  }
  workload::Ready();
  workload::Waits waits;
  for (uint64_t i = 0; i < count; ++i) {
    waits.Around([&] {
      if (WaitForDisk(fd, buffer, i * kBlock) < 0) std::_Exit(1);
    });
  }
  waits.Report("disk");
  workload::Done();
}
