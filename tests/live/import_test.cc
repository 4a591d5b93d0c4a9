// SPDX-License-Identifier: MIT
// A recording by perf, imported, says the same as one of ours that was made at the same time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "profile/profile_file.h"
#include "tests/support/live.h"
#include "tests/support/live_view.h"

namespace offcpu::live {
namespace {

class PerfTest : public LiveTest {
 protected:
  void SetUp() override {
    LiveTest::SetUp();
    if (IsSkipped()) return;
    if (std::system("perf --version > /dev/null 2>&1") != 0)
      GTEST_SKIP() << "perf is not installed";
  }
  static bool Run(const std::string& command) { return RunShell(command + " > /dev/null"); }
  static bool RunShell(const std::string& command) {
    return std::system((command + " 2> /dev/null").c_str()) == 0;
  }
  // An empty profile, and a failure, where the file can't be imported.
  profile::Profile Import(const std::string& recording) {
    const std::string imported = NewFile();
    EXPECT_TRUE(Run(OffcpuPath() + " import --reasons all -o " + imported + " " + recording));
    auto profile = profile::ReadProfileFile(imported);
    if (profile) return std::move(*profile);
    ADD_FAILURE() << profile.error().message;
    return {};
  }
  // The recording as text says the same to the nanosecond, also where CPUs and processes are not
  // printed.
  void ExpectTextsAgree(const std::string& data, pid_t waiter, const Found& expected) {
    for (const std::string fields :
         {"", " -F comm,pid,tid,cpu,time,event,trace,ip,sym,symoff,dso --show-task-events",
          " -F comm,tid,time,event,trace,ip,sym,dso"}) {
      SCOPED_TRACE("perf script --ns" + fields);
      const std::string text = NewFile();
      ASSERT_TRUE(RunShell("perf script --ns" + fields + " -i " + data + " > " + text));
      const profile::Profile printed = Import(text);
      const Found found = Find(printed, waiter, "WaitForLock");
      EXPECT_EQ(found.intervals, expected.intervals);
      EXPECT_EQ(found.observed, expected.observed);
      ExpectLeaves(printed, found, "WaitForLock", "futex_wait", model::kTaskInterruptible);
    }
  }
};

// By the way in which perf took user stacks.
class ImportTest : public PerfTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(ImportTest, ARecordingByPerfHasTheSameWaits) {
  // On the first CPU: perf has only tracepoints, and there are kernels that hide what another CPU's
  // idle task does from them.
  Program program("futex", {"--cpu", std::to_string(Cpus().front()), "20", "2000000"});
  OFFCPU_AWAIT_READY(program);
  const std::string data = NewFile();
  Child::Options options;
  options.arguments = {
      "perf",      "record", "-q",           "-k",
      "mono",      "-a",     "-e",           "sched:sched_switch,sched:sched_wakeup",
      "-o",        data,     "-D",           "-1",
      "--control", "fd:0,1", "--call-graph", GetParam()};
  Child perf(options);
  perf.Write("enable\n");
  const auto answer = perf.ReadLine();
  if (!answer) GTEST_SKIP() << "perf record does not work here, or knows no --control";
  ASSERT_TRUE(answer->starts_with("ack")) << *answer;
  const Session session = Record(program);
  perf.Signal(SIGINT);
  perf.Wait();

  const profile::Profile profile = Import(data);
  const pid_t waiter = program.tid("waiter");
  const Found ours = Find(session.profile, waiter, "WaitForLock");
  const Found theirs = Find(profile, waiter, "WaitForLock");
  EXPECT_EQ(theirs.intervals, ours.intervals);
  // Both clocks are CLOCK_MONOTONIC, read one after the other in the same switch.
  const auto difference = static_cast<double>(theirs.observed) - static_cast<double>(ours.observed);
  EXPECT_LT(std::abs(difference), 50e3 * static_cast<double>(ours.intervals));
  ExpectLeaves(profile, theirs, "WaitForLock", "futex_wait", model::kTaskInterruptible);
  if (std::string_view(GetParam()) == "fp") {
    ExpectTextsAgree(data, waiter, theirs);
    return;
  }
  for (const profile::Entry* entry : theirs.entries) {
    const auto names = NamesOf(profile, entry->user_stack);
    EXPECT_NE(names.front().find("clone"), std::string::npos) << ::testing::PrintToString(names);
  }
}

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

TEST_F(PerfTest, ItsTimehistHasTheSameWaits) {
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
  const profile::Profile profile = Import(text);
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

INSTANTIATE_TEST_SUITE_P(Stacks, ImportTest, ::testing::Values("fp", "dwarf"));

}  // namespace
}  // namespace offcpu::live
