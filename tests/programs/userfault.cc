// SPDX-License-Identifier: MIT
// userfault [--cpu N] COUNT NS: "toucher" touches COUNT missing pages; "pager" fills in each NS
// nanoseconds after the toucher fell asleep on it.
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "workload.h"

namespace {

[[gnu::noinline]] void WaitForPage(const volatile char* page) { (void)*page; }

[[gnu::noinline]] void LetItWait(workload::Nanos length) { workload::SleepHere(length); }

int OpenFor(void* memory, size_t size) {
  const int fd = static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC));
  if (fd < 0) workload::Skip("userfaultfd");
  uffdio_api api{};
  api.api = UFFD_API;
  if (::ioctl(fd, UFFDIO_API, &api) != 0) workload::Skip("UFFDIO_API");
  uffdio_register area{};
  area.range.start = reinterpret_cast<uintptr_t>(memory);
  area.range.len = size;
  area.mode = UFFDIO_REGISTER_MODE_MISSING;
  if (::ioctl(fd, UFFDIO_REGISTER, &area) != 0) workload::Skip("UFFDIO_REGISTER");
  return fd;
}

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = workload::Begin(argc, argv);
  const uint64_t count = workload::Number(arguments, 0, 10);
  const uint64_t length = workload::Number(arguments, 1, 2'000'000);
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  void* memory =
      ::mmap(nullptr, count * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) workload::Die("mmap");
  const int fd = OpenFor(memory, count * page);
  const std::vector<char> content(page, 'x');
  workload::Waits waits;
  workload::Crew crew;
  const pid_t toucher = crew.Add("toucher", [&] {
    for (uint64_t i = 0; i < count; ++i) {
      waits.Around([&] { WaitForPage(static_cast<const char*>(memory) + i * page); });
    }
  });
  crew.Add("pager", [&] {
    for (uint64_t i = 0; i < count; ++i) {
      uffd_msg message{};
      if (::read(fd, &message, sizeof(message)) != sizeof(message)) workload::Die("read");
      workload::AwaitAsleepIn(toucher, -1);
      LetItWait(length);
      uffdio_copy copy{};
      copy.dst = message.arg.pagefault.address / page * page;
      copy.src = reinterpret_cast<uintptr_t>(content.data());
      copy.len = page;
      if (::ioctl(fd, UFFDIO_COPY, &copy) != 0) workload::Die("UFFDIO_COPY");
    }
  });
  workload::Ready();
  crew.Work();
  waits.Report("fault");
  workload::Done();
  crew.Leave();
}
