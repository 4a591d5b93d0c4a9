// SPDX-License-Identifier: MIT
// A recording by perf, imported, says the same as one of ours that was made at the same time.
#include <gtest/gtest.h>

#include <cstdlib>

#include "profile/profile_file.h"
#include "tests/support/live.h"
#include "tests/support/live_view.h"

namespace offcpu::live {
namespace {

// By the way in which perf took user stacks.
class ImportTest : public LiveTest, public ::testing::WithParamInterface<const char*> {
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
};

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

  const std::string imported = NewFile();
  ASSERT_TRUE(Run(OffcpuPath() + " import --reasons all -o " + imported + " " + data));
  const auto profile = profile::ReadProfileFile(imported);
  ASSERT_TRUE(profile) << profile.error().message;
  const pid_t waiter = program.tid("waiter");
  const Found ours = Find(session.profile, waiter, "WaitForLock");
  const Found theirs = Find(*profile, waiter, "WaitForLock");
  EXPECT_EQ(theirs.intervals, ours.intervals);
  // Both clocks are CLOCK_MONOTONIC, read one after the other in the same switch.
  const auto difference = static_cast<double>(theirs.observed) - static_cast<double>(ours.observed);
  EXPECT_LT(std::abs(difference), 50e3 * static_cast<double>(ours.intervals));
  ExpectLeaves(*profile, theirs, "WaitForLock", "futex_wait", model::kTaskInterruptible);
  if (std::string_view(GetParam()) == "fp") {
    // The same as text says the same, to the nanosecond.
    const std::string text = NewFile();
    ASSERT_TRUE(RunShell("perf script --ns -i " + data + " > " + text));
    const std::string of_text = NewFile();
    ASSERT_TRUE(Run(OffcpuPath() + " import --reasons all -o " + of_text + " " + text));
    const auto printed = profile::ReadProfileFile(of_text);
    ASSERT_TRUE(printed) << printed.error().message;
    const Found of_printed = Find(*printed, waiter, "WaitForLock");
    EXPECT_EQ(of_printed.intervals, theirs.intervals);
    EXPECT_EQ(of_printed.observed, theirs.observed);
    ExpectLeaves(*printed, of_printed, "WaitForLock", "futex_wait", model::kTaskInterruptible);
    return;
  }
  for (const profile::Entry* entry : theirs.entries) {
    const auto names = NamesOf(*profile, entry->user_stack);
    EXPECT_NE(names.front().find("clone"), std::string::npos) << ::testing::PrintToString(names);
  }
}

INSTANTIATE_TEST_SUITE_P(Stacks, ImportTest, ::testing::Values("fp", "dwarf"));

}  // namespace
}  // namespace offcpu::live
