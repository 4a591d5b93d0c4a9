// SPDX-License-Identifier: MIT
// perf's own history of a recording has the waits that an import of it has.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "profile/profile_file.h"
#include "tests/support/live.h"

namespace offcpu::live {
namespace {

class TimehistTest : public LiveTest {
 protected:
  void SetUp() override {
    LiveTest::SetUp();
    if (IsSkipped()) return;
    if (!RunShell("perf --version > /dev/null")) GTEST_SKIP() << "perf is not installed";
  }
  static bool RunShell(const std::string& command) {
    return std::system((command + " 2> /dev/null").c_str()) == 0;
  }
};

// What `perf sched timehist` tells of a thread: at each of its switch-outs, how long it had waited
// before it ran, in milliseconds with three digits.
struct Timehist {
  uint64_t rows = 0;
  Nanos waits = 0;
};
Timehist ReadTimehist(const std::string& path) {
  Timehist result;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    // "   123.456789 [0000]  name[tid/pid]   wait   delay   run"
    const size_t thread = line.rfind("]  ");
    double wait = 0;
    if (line.find(" [0") == std::string::npos || thread == std::string::npos) continue;
    std::istringstream numbers(line.substr(thread + 1));
    if (!(numbers >> wait)) continue;
    ++result.rows;
    result.waits += static_cast<Nanos>(wait * 1e6 + 0.5);
  }
  return result;
}

TEST_F(TimehistTest, ATextHasTheSameWaitsAsPerfsOwnHistory) {
  const std::string data = NewFile();
  const std::string output = NewFile();
  // The whole life of its threads is recorded, so no wait is open at an end.
  const bool recorded =
      RunShell("perf record -q -a -k mono -e sched:sched_switch,sched:sched_wakeup -o " + data +
               " -- " + ProgramPath("futex") + " --cpu " + std::to_string(Cpus().front()) +
               " 20 2000000 < /dev/null > " + output);
  if (!recorded) GTEST_SKIP() << "perf record does not work here";
  pid_t waiter = 0;
  std::ifstream said(output);
  for (std::string word; said >> word;) {
    if (word == "waiter") said >> waiter;
  }
  ASSERT_GT(waiter, 0);
  const std::string history = NewFile();
  ASSERT_TRUE(RunShell("perf sched timehist -i " + data + " --tid " + std::to_string(waiter) +
                       " > " + history));
  const Timehist theirs = ReadTimehist(history);
  // It loses sight of threads that are reaped: their last switch-outs have no tid. So they are
  // compared up to the last that has one.
  const std::string whole = NewFile();
  const std::string text = NewFile();
  ASSERT_TRUE(RunShell("perf script --ns -i " + data + " > " + whole));
  ASSERT_TRUE(RunShell("awk 'NR == FNR { if (/ " + std::to_string(waiter) +
                       " +\\[.*sched_switch:/) last = FNR; next } FNR <= last' " + whole + " " +
                       whole + " > " + text));
  const std::string imported = NewFile();
  ASSERT_TRUE(RunShell(OffcpuPath() + " import -q --reasons all -o " + imported + " " + text));
  const auto read = profile::ReadProfileFile(imported);
  ASSERT_TRUE(read) << read.error().message;
  const profile::Profile& profile = *read;
  const auto thread = std::find_if(profile.threads.begin(), profile.threads.end(),
                                   [&](const profile::Thread& each) { return each.tid == waiter; });
  ASSERT_NE(thread, profile.threads.end());
  const Nanos ours = thread->blocked_ns() + thread->runnable_ns + thread->preempted_ns;
  EXPECT_GE(theirs.rows, 20U);
  EXPECT_EQ(theirs.rows, thread->voluntary_switches + thread->involuntary_switches);
  // Each of their waits is cut off to a microsecond.
  EXPECT_GE(ours, theirs.waits);
  EXPECT_LE(ours - theirs.waits, 1000 * theirs.rows);
}

}  // namespace
}  // namespace offcpu::live
