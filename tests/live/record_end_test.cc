// SPDX-License-Identifier: MIT
// How a recording ends: by duration, with its target, with its command; and what it leaves.
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "base/parse.h"
#include "tests/support/live.h"
#include "tests/support/live_view.h"

namespace offcpu::live {
namespace {

using RecordEndTest = LiveTest;

TEST_F(RecordEndTest, ADurationEndsItAndIsTheWindow) {
  Program program("nanosleep", {});
  OFFCPU_AWAIT_READY(program);
  Recorder recorder = StartRecorder({"-p", std::to_string(program.pid()), "-d", "150ms"});
  EXPECT_EQ(recorder.Wait(), 0) << recorder.Output();
  const profile::Profile profile = recorder.Load();
  ExpectConserved(profile);
  EXPECT_GE(profile.window_ns, 150'000'000U);
}

TEST_F(RecordEndTest, TheTargetsEndEndsItWithTheLastSwitchOutIncluded) {
  Program program("nanosleep", {"5", "2000000"});
  OFFCPU_AWAIT_READY(program);
  const pid_t pid = program.pid();
  const Counters before = ReadAsleep(pid, {pid, SYS_read});
  const Nanos left_out = LeftOutTime();
  Recorder recorder = StartRecorder({"-p", std::to_string(pid)});
  ASSERT_TRUE(recorder.AwaitStart());
  program.Go();
  ASSERT_TRUE(program.Await("done"));
  program.child().CloseInput();
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
  const Counters growth = ReadAsleep(pid, {pid, -1}) - before;
  EXPECT_EQ(recorder.Wait(), 0) << recorder.Output();
  const profile::Profile profile = recorder.Load();
  ExpectConserved(profile);
  ExpectKernelAgrees(profile, AccountOf(profile, pid), growth,
                     {.left_out = LeftOutSince(left_out)});
}

// The number in the line "pid N" that the command said among the recorder's output.
pid_t PidSaidIn(const std::string& output) {
  for (std::string_view line : Split(output, '\n')) {
    pid_t pid = 0;
    if (line.substr(0, 4) == "pid " && ParseNumber(line.substr(4), &pid)) return pid;
  }
  ADD_FAILURE() << "the command said no pid:\n" << output;
  return 0;
}

TEST_F(RecordEndTest, ACommandIsRecordedFromItsExecToItsEnd) {
  Recorder recorder = StartRecorder({"--", ProgramPath("nanosleep"), "5", "2000000"});
  EXPECT_EQ(recorder.Wait(), 0) << recorder.Output();
  const profile::Profile profile = recorder.Load();
  ExpectNoLoss(profile);
  ExpectConserved(profile);
  const pid_t pid = PidSaidIn(recorder.Output());
  const Found found = Find(profile, pid, "WaitInNanosleep");
  ExpectIntervals(profile, found, 5);
  ExpectLeaves(profile, found, "WaitInNanosleep", "nanosleep", model::kTaskInterruptible);
  for (const profile::Entry& entry : profile.entries) {
    EXPECT_EQ(profile.String(entry.comm), "nanosleep") << "nothing from before the exec";
    EXPECT_EQ(entry.left_open + entry.right_open, 0U);
  }
  const profile::Thread account = AccountOf(profile, pid);
  EXPECT_GT(account.on_cpu_ns, 0U);
  EXPECT_GE(account.voluntary_switches, 6U) << "five sleeps and the end";
}

TEST_F(RecordEndTest, AllThreadsOfACommandAreRecorded) {
  Recorder recorder = StartRecorder({"--", ProgramPath("pool"), "20", "1000000", "5"});
  EXPECT_EQ(recorder.Wait(), 0) << recorder.Output();
  const profile::Profile profile = recorder.Load();
  ExpectConserved(profile);
  uint64_t sleeps = 0;
  for (const profile::Thread& thread : profile.threads) {
    if (thread.tid != 0) sleeps += Find(profile, thread.tid, "WaitInPool").intervals;
  }
  EXPECT_EQ(sleeps, 20U);
}

TEST_F(RecordEndTest, TheCommandsStatusIsPassedOn) {
  const std::pair<const char*, int> cases[] = {
      {"exit 0", 0}, {"exit 7", 7}, {"kill -TERM $$", 143}};
  for (const auto& [script, status] : cases) {
    Recorder recorder = StartRecorder({"--", "sh", "-c", script});
    EXPECT_EQ(recorder.Wait(), status) << script << '\n' << recorder.Output();
    ExpectConserved(recorder.Load());
  }
}

TEST_F(RecordEndTest, ACommandThatCanNotRunLeavesNoFile) {
  const std::string plain = folder() + "/not-executable";
  std::ofstream(plain) << "text\n";
  const std::pair<std::string, int> cases[] = {{folder() + "/no-such-program", 127}, {plain, 126}};
  for (const auto& [command, status] : cases) {
    const std::string file = NewFile();
    Recorder recorder({.arguments = {"--", command}, .file = file});
    EXPECT_EQ(recorder.Wait(), status) << recorder.Output();
    EXPECT_FALSE(std::filesystem::exists(file));
    EXPECT_NE(recorder.Output().find(command), std::string::npos) << "the message names it";
  }
  for (const auto& left : std::filesystem::directory_iterator(folder())) {
    EXPECT_EQ(left.path(), plain) << "nothing else is left behind";
  }
}

TEST_F(RecordEndTest, AnExistingFileIsKeptUnlessForced) {
  const std::string file = NewFile();
  std::ofstream(file) << "precious";
  Recorder refused({.arguments = {"--", "true"}, .file = file});
  EXPECT_EQ(refused.Wait(), 1) << refused.Output();
  EXPECT_EQ(*ReadSmallFile(file), "precious");
  Recorder forced({.arguments = {"--force", "--", "true"}, .file = file});
  EXPECT_EQ(forced.Wait(), 0) << forced.Output();
  EXPECT_GT(forced.Load().window_ns, 0U);
}

TEST_F(RecordEndTest, ATargetThatIsNotThereIsNamedAndLeavesNoFile) {
  Program program("nanosleep", {});
  OFFCPU_AWAIT_READY(program);
  const pid_t gone = program.pid();
  program.Finish();
  const std::string file = NewFile();
  Recorder recorder({.arguments = {"-p", std::to_string(gone)}, .file = file});
  EXPECT_EQ(recorder.Wait(), 1) << recorder.Output();
  EXPECT_NE(recorder.Output().find(std::to_string(gone)), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(file));
}

}  // namespace
}  // namespace offcpu::live
