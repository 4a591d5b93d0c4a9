// SPDX-License-Identifier: MIT
// How fast a recording is read, in CPU time, which is one thread's, and in how much memory:
// tools/bench/jfr runs this.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/clock.h"
#include "jfr/events.h"
#include "jfr/recording.h"

namespace offcpu::jfr {
namespace {

// What is asked of a recording by whoever explains waits with it.
Selection Waits() {
  Selection waits;
  waits.Add("jdk.ThreadPark", {"parkedClass.name", "timeout", "until", "address"});
  waits.Add("jdk.JavaMonitorEnter", {"monitorClass.name", "previousOwner", "address"});
  waits.Add("jdk.JavaMonitorWait", {"monitorClass.name", "notifier", "timeout", "timedOut"});
  waits.Add("jdk.ThreadSleep", {"time"});
  waits.Add("jdk.SocketRead", {"host", "address", "port", "bytesRead"});
  waits.Add("jdk.SocketWrite", {"host", "address", "port", "bytesWritten"});
  waits.Add("jdk.FileRead", {"path", "bytesRead"});
  waits.Add("jdk.FileWrite", {"path", "bytesWritten"});
  waits.Add("profiler.WallClockSample", {"state", "samples"});
  return waits;
}

struct Sums {
  uint64_t events = 0;
  uint64_t frames = 0;
  uint64_t fields = 0;
};

void ReadChunk(const Chunk& chunk, const Selection& selection, Sums* sums) {
  Names names(&chunk);
  EventCursor cursor(&chunk, &selection, &names);
  while (const Event* event = cursor.Next()) {
    ++sums->events;
    const StackTrace* stack = names.StackAt(event->stack);
    if (stack != nullptr) sums->frames += stack->frames.size();
    sums->fields += names.ThreadAt(event->thread) != nullptr;
    const size_t paths = selection.items()[event->selected].paths.size();
    for (size_t i = 0; i < paths; ++i) {
      sums->fields += cursor.Field(i).kind != ValueKind::kAbsent;
    }
  }
}

enum class Which { kWaits, kAll };

Sums ReadFile(const std::string& path, Which which) {
  Sums sums;
  auto recording = Recording::Open(path);
  EXPECT_TRUE(recording);
  const Selection waits = Waits();
  while (const auto chunk = recording->NextChunk()) {
    if (which == Which::kWaits) {
      ReadChunk(*chunk, waits, &sums);
      continue;
    }
    Selection all;
    all.AddAllOf(*chunk);
    ReadChunk(*chunk, all, &sums);
  }
  EXPECT_FALSE(recording->damage().any());
  return sums;
}

void Measure(const std::string& path, Which which, const char* what) {
  const auto bytes = static_cast<double>(std::filesystem::file_size(path));
  std::vector<double> rates;
  Sums sums;
  for (int i = 0; i < 5; ++i) {
    const Nanos begin = ReadClock(CLOCK_PROCESS_CPUTIME_ID);
    sums = ReadFile(path, which);
    const auto taken = static_cast<double>(ReadClock(CLOCK_PROCESS_CPUTIME_ID) - begin);
    rates.push_back(bytes * 1e3 / taken);
  }
  std::sort(rates.begin(), rates.end());
  rusage usage{};
  ASSERT_EQ(::getrusage(RUSAGE_SELF, &usage), 0);
  std::printf(
      "%s: median %.0f MB for a second of CPU time (%.0f to %.0f) of %.0f MB; %llu events, %llu "
      "frames; peak %ld MB\n",
      what, rates[2], rates.front(), rates.back(), bytes / 1e6,
      static_cast<unsigned long long>(sums.events), static_cast<unsigned long long>(sums.frames),
      usage.ru_maxrss / 1024);
  EXPECT_GE(rates[2], 200.0);
  EXPECT_LE(usage.ru_maxrss, 300 * 1024);
}

// Disabled: how long it takes depends on the machine and on who else works there.
TEST(JfrSpeedTest, DISABLED_ALargeRecordingIsReadFastInLittleMemory) {
  const char* path = std::getenv("OFFCPU_BENCH_JFR");
  ASSERT_NE(path, nullptr) << "OFFCPU_BENCH_JFR names the recording";
  Measure(path, Which::kWaits, "waits, their fields, threads and stacks");
  Measure(path, Which::kAll, "all events with all their fields, threads and stacks");
}

}  // namespace
}  // namespace offcpu::jfr
