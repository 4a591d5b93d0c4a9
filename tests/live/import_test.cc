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
  static bool RunShell(const std::string& command) {
    return std::system((command + " 2> /dev/null").c_str()) == 0;
  }
  static Arguments RecordCommand(const std::string& data) {
    return {"perf",         "record",  "-q",        "-k",
            "mono",         "-a",      "-m",        "8M",
            "-D",           "-1",      "-e",        "sched:sched_switch,sched:sched_wakeup",
            "-o",           data,      "--control", "fd:0,1",
            "--call-graph", GetParam()};
  }
  // Its exit status.
  static int Import(const std::string& from, const std::string& to) {
    const std::string command = OffcpuPath() + " import -q --reasons all -o " + to + " " + from;
    return WEXITSTATUS(std::system((command + " 2> /dev/null").c_str()));
  }
  // The recording as text says the same to the nanosecond, also where CPUs and processes are not
  // printed.
  static void CompareTexts(const std::string& data, pid_t waiter, const Found& expected) {
    for (const std::string fields :
         {"", " -F comm,pid,tid,cpu,time,event,trace,ip,sym,symoff,dso --show-task-events",
          " -F comm,tid,time,event,trace,ip,sym,dso"}) {
      SCOPED_TRACE("perf script --ns" + fields);
      const std::string text = data + ".txt";
      ASSERT_TRUE(RunShell("perf script --ns" + fields + " -i " + data + " > " + text));
      const std::string of_text = text + std::to_string(fields.size()) + ".pb";
      ASSERT_EQ(Import(text, of_text), 0);
      const auto printed = profile::ReadProfileFile(of_text);
      ASSERT_TRUE(printed) << printed.error().message;
      const Found found = Find(*printed, waiter, "WaitForLock");
      EXPECT_EQ(found.intervals, expected.intervals);
      EXPECT_EQ(found.observed, expected.observed);
      ExpectLeaves(*printed, found, "WaitForLock", "futex_wait", model::kTaskInterruptible);
    }
  }
  static void Compare(const profile::Profile& of_ours, const std::string& data,
                      const std::string& imported, pid_t waiter) {
    const auto profile = profile::ReadProfileFile(imported);
    ASSERT_TRUE(profile) << profile.error().message;
    const Found ours = Find(of_ours, waiter, "WaitForLock");
    const Found theirs = Find(*profile, waiter, "WaitForLock");
    EXPECT_EQ(theirs.intervals, ours.intervals);
    // Both clocks are CLOCK_MONOTONIC, read one after the other in the same switch.
    const auto difference =
        static_cast<double>(theirs.observed) - static_cast<double>(ours.observed);
    EXPECT_LT(std::abs(difference), 50e3 * static_cast<double>(ours.intervals));
    ExpectLeaves(*profile, theirs, "WaitForLock", "futex_wait", model::kTaskInterruptible);
    if (std::string_view(GetParam()) == "fp") {
      CompareTexts(data, waiter, theirs);
      return;
    }
    for (const profile::Entry* entry : theirs.entries) {
      const auto names = NamesOf(*profile, entry->user_stack);
      EXPECT_NE(names.front().find("clone"), std::string::npos) << ::testing::PrintToString(names);
    }
  }
};

// A recording in which perf lost events, or wrote them out of order (KF 5), is made again.
TEST_P(ImportTest, ARecordingByPerfHasTheSameWaits) {
  constexpr int kAttempts = 5;
  constexpr int kIncomplete = 2;
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    // On the first CPU: perf has only tracepoints, and there are kernels that hide what another
    // CPU's idle task does from them.
    Program program("futex", {"--cpu", std::to_string(Cpus().front()), "20", "2000000"});
    OFFCPU_AWAIT_READY(program);
    const std::string data = NewFile();
    Child perf({.arguments = RecordCommand(data)});
    perf.Write("enable\n");
    const auto answer = perf.ReadLine();
    if (!answer) GTEST_SKIP() << "perf record does not work here, or knows no --control";
    ASSERT_TRUE(answer->starts_with("ack")) << *answer;
    const Session session = Record(program);
    perf.Signal(SIGINT);
    perf.Wait();
    const std::string imported = NewFile();
    const int status = Import(data, imported);
    if (status == kIncomplete && attempt < kAttempts) continue;
    ASSERT_EQ(status, 0);
    Compare(session.profile, data, imported, program.tid("waiter"));
    return;
  }
}

INSTANTIATE_TEST_SUITE_P(Stacks, ImportTest, ::testing::Values("fp", "dwarf,2048"));

}  // namespace
}  // namespace offcpu::live
