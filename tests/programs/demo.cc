// SPDX-License-Identifier: MIT
// demo [SECONDS]: a small server to look at with offcpu; runs until it is killed, or for SECONDS.
//   db-writer    holds the table's lock while it flushes, far too long
//   web-1..3     need that lock for each request
//   producer     puts an item into a queue now and then; the consumer waits for it most of the time
//   heartbeat    sleeps, on purpose
//   disk-reader  reads blocks past the page cache
//   reporter     computes
#include <fcntl.h>
#include <pthread.h>

#include <semaphore>

#include "workload.h"

// Not in an unnamed namespace, which would stand in front of each name in a flame graph.
using workload::Nanos;

static constexpr Nanos kMillisecond = 1'000'000;

static std::atomic<bool> stopping{false};

// Functions that a library without frame pointers waits below have one more frame of their own
// here: the one that is missing in the stack.
class TableLock {
 public:
  [[gnu::noinline]] void Acquire() { pthread_mutex_lock(&mutex_); }
  void Release() { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

static TableLock table_lock;
static std::counting_semaphore<> queued_items{0};

[[gnu::noinline]] static void Compute(Nanos length) {
  const Nanos begin = workload::ReadClock(CLOCK_THREAD_CPUTIME_ID);
  while (workload::ReadClock(CLOCK_THREAD_CPUTIME_ID) - begin < length) {
    for (int i = 0; i < 10'000; ++i) asm volatile("" ::: "memory");
  }
}

// The database.
[[gnu::noinline]] static void FlushTable() { workload::SleepHere(35 * kMillisecond); }
[[gnu::noinline]] static void FlushTableWhileHoldingLock() {
  table_lock.Acquire();
  FlushTable();
  table_lock.Release();
}
[[gnu::noinline]] static void WaitForNextFlush() { workload::SleepHere(25 * kMillisecond); }
static void WriteDatabase() {
  while (!stopping) {
    FlushTableWhileHoldingLock();
    WaitForNextFlush();
  }
}

// The web server.
[[gnu::noinline]] static void LockTable() { table_lock.Acquire(); }
[[gnu::noinline]] static void UpdateSession() {
  LockTable();
  Compute(kMillisecond / 5);
  table_lock.Release();
}
[[gnu::noinline]] static void HandleRequest() {
  Compute(kMillisecond / 2);
  UpdateSession();
}
[[gnu::noinline]] static void WaitForRequest() { workload::SleepHere(6 * kMillisecond); }
static void ServeRequests() {
  while (!stopping) {
    WaitForRequest();
    HandleRequest();
  }
}

// The queue.
[[gnu::noinline]] static void WaitForNextItem() { workload::SleepHere(12 * kMillisecond); }
static void ProduceItems() {
  while (!stopping) {
    WaitForNextItem();
    queued_items.release();
  }
}
[[gnu::noinline]] static void WaitForItem() { queued_items.acquire(); }
[[gnu::noinline]] static void ConsumeItem() {
  WaitForItem();
  Compute(kMillisecond);
}
static void ConsumeItems() {
  while (!stopping) ConsumeItem();
}

// The rest.
[[gnu::noinline]] static void WaitForNextHeartbeat() { workload::SleepHere(100 * kMillisecond); }
static void SendHeartbeats() {
  while (!stopping) WaitForNextHeartbeat();
}

static constexpr size_t kBlock = 1 << 16;
static constexpr size_t kBlocks = 64;

// A file without a name; -1 where none can be made. Past the page cache if the file system allows.
static int OpenDataFile() {
  const char* folder = std::getenv("TMPDIR") != nullptr ? std::getenv("TMPDIR") : "/tmp";
  const int fd = ::open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0) return -1;
  const std::vector<char> block(kBlock, 'x');
  for (size_t i = 0; i < kBlocks; ++i) {
    if (::write(fd, block.data(), kBlock) != static_cast<ssize_t>(kBlock)) return -1;
  }
  ::fsync(fd);
  ::fcntl(fd, F_SETFL, O_DIRECT);
  return fd;
}
[[gnu::noinline]] static void ReadBlock(int fd, void* buffer, size_t block) {
  workload::Call(SYS_pread64, fd, workload::Address(buffer), kBlock,
                 static_cast<long>(block * kBlock));
}
[[gnu::noinline]] static void ScanDataFile(int fd, void* buffer) {
  for (size_t i = 0; i < kBlocks && !stopping; ++i) ReadBlock(fd, buffer, i);
}
[[gnu::noinline]] static void WaitForNextScan() { workload::SleepHere(20 * kMillisecond); }
static void ScanData() {
  const int fd = OpenDataFile();
  void* buffer = std::aligned_alloc(4096, kBlock);
  while (!stopping && fd >= 0) {
    ScanDataFile(fd, buffer);
    WaitForNextScan();
  }
}

[[gnu::noinline]] static void BuildReport() { Compute(8 * kMillisecond); }
[[gnu::noinline]] static void WaitForNextReport() { workload::SleepHere(20 * kMillisecond); }
static void BuildReports() {
  while (!stopping) {
    BuildReport();
    WaitForNextReport();
  }
}

// Not std::thread, whose machinery would be half of each stack.
struct Part {
  const char* name;
  void (*work)();
};
static constexpr Part kParts[] = {
    {"db-writer", WriteDatabase},  {"web-1", ServeRequests},   {"web-2", ServeRequests},
    {"web-3", ServeRequests},      {"producer", ProduceItems}, {"consumer", ConsumeItems},
    {"heartbeat", SendHeartbeats}, {"disk-reader", ScanData},  {"reporter", BuildReports},
};
static void* RunPart(void* argument) {
  const Part* part = static_cast<const Part*>(argument);
  workload::NameThread(part->name);
  part->work();
  return nullptr;
}

[[gnu::noinline]] static void WaitForShutdown(uint64_t seconds) {
  const Nanos begin = workload::Now();
  while (seconds == 0 || workload::Now() - begin < seconds * 1'000'000'000) {
    workload::SleepHere(seconds == 0 ? 3'600'000 * kMillisecond : 50 * kMillisecond);
  }
}

int main(int argc, char** argv) {
  std::vector<pthread_t> threads;
  for (const Part& part : kParts) {
    if (pthread_create(&threads.emplace_back(), nullptr, RunPart, const_cast<Part*>(&part)) != 0) {
      workload::Die("pthread_create");
    }
  }
  WaitForShutdown(workload::Number({argv + 1, argv + argc}, 0, 0));
  stopping = true;
  queued_items.release();
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
}
