// SPDX-License-Identifier: MIT
// Where it waited: nesting, depth, files that are gone, other mount namespaces, kinds of stacks.
#include <sys/syscall.h>

#include <filesystem>

#include "tests/support/live.h"
#include "tests/support/live_view.h"

namespace offcpu::live {
namespace {

using StacksTest = LiveTest;

TEST_F(StacksTest, EachWaitSitsUnderItsOwnCallerAndTheOuterOnesAddUp) {
  Program program("nested", {"20000000"});
  OFFCPU_AWAIT_READY(program);
  const Session session = Record(program);
  ExpectLaws(session);
  const pid_t pid = program.pid();
  const Nanos inner = program.Waits("inner").second;
  const Nanos middle = program.Waits("middle").second;
  const Nanos outer = program.Waits("outer").second;
  ExpectMeasured(session.profile, pid, Find(session.profile, pid, "Inner"), inner);
  ExpectMeasured(session.profile, pid, Find(session.profile, pid, "Middle"), inner + middle);
  ExpectMeasured(session.profile, pid, Find(session.profile, pid, "Outer"), inner + middle + outer);
  for (const profile::Entry* entry : Find(session.profile, pid, "Inner").entries) {
    std::vector<std::string> names = NamesOf(session.profile, entry->user_stack);
    ASSERT_GE(names.size(), 4U);
    names.erase(names.begin(), names.end() - 4);
    EXPECT_EQ(names, (std::vector<std::string>{"main", "Outer", "Middle", "Inner"}));
  }
}

TEST_F(StacksTest, AStackOverTheLimitHangsUnderTheMarkerAndKeepsItsTime) {
  Program program("recursion", {"300", "5000000"});
  OFFCPU_AWAIT_READY(program);
  const Session session = Record(program);
  ExpectLaws(session);
  const Found found = Find(session.profile, program.pid(), "WaitAtBottom");
  ASSERT_EQ(found.intervals, 1U);
  const std::vector<std::string> names = NamesOf(session.profile, found.entries[0]->user_stack);
  EXPECT_EQ(names.front(), "[truncated stack]");
  EXPECT_EQ(names.back(), "WaitAtBottom");
  EXPECT_EQ(names[names.size() / 2], "Descend");
  EXPECT_LT(names.size(), 300U);
  ExpectMeasured(session.profile, program.pid(), found, program.Waits("bottom").second);
}

void ExpectModule(const profile::Profile& profile, const Found& found, const std::string& module) {
  ASSERT_EQ(found.intervals, 1U);
  const std::vector<profile::FrameId> frames = FramesOf(profile, found.entries[0]->user_stack);
  EXPECT_EQ(profile.String(profile.frames[frames.back()].module), module);
}

TEST_F(StacksTest, AProgramWhoseFileWasDeletedOrReplacedKeepsItsNames) {
  for (const std::string by : {"delete", "replace"}) {
    for (const std::string when : {"before", "after"}) {
      SCOPED_TRACE(by + " " + when);
      const std::string copy = folder() + "/victim";
      const std::string other = folder() + "/other";
      std::filesystem::copy_file(ProgramPath("replaced"), copy,
                                 std::filesystem::copy_options::overwrite_existing);
      std::filesystem::copy_file(ProgramPath("nested"), other,
                                 std::filesystem::copy_options::overwrite_existing);
      Program program("", {by == "delete" ? by : other, when, "5000000"}, copy);
      OFFCPU_AWAIT_READY(program);
      const Session session = Record(program);
      ExpectLaws(session);
      const Found found = Find(session.profile, program.pid(), "WaitWithoutFile");
      ExpectLeaves(session.profile, found, "WaitWithoutFile", "nanosleep",
                   model::kTaskInterruptible);
      ExpectModule(session.profile, found, "victim");
    }
  }
}

// What runs in a pid and mount namespace of its own; see tests/programs/namespace.cc.
class NamespaceTest : public LiveTest {
 protected:
  void SetUp() override {
    LiveTest::SetUp();
    if (!IsSkipped()) std::filesystem::create_directory(folder() + "/hidden");
  }

  // Records with `target` as the one of -p, from outside or `inside` the namespaces.
  void ExpectFollowed(Program& program, pid_t target, bool inside) {
    const pid_t outer = program.tid("inner");
    const Counters before = ReadAsleep(outer, {outer, SYS_read});
    const Nanos left_out = LeftOutTime();
    Arguments arguments = AllReasons();
    arguments.insert(arguments.end(), {"-p", std::to_string(target)});
    Recorder recorder(
        {.arguments = arguments, .file = NewFile(), .in_namespaces_of = inside ? outer : 0});
    ASSERT_TRUE(recorder.AwaitStart());
    program.Go();
    ASSERT_TRUE(program.Await("done"));
    const Counters growth = ReadAsleep(outer, {outer, SYS_read}) - before;
    EXPECT_EQ(recorder.Stop(), 0) << recorder.Output();
    const profile::Profile profile = recorder.Load();
    ExpectNoLoss(profile);
    ExpectConserved(profile);
    const profile::Thread account = AccountOf(profile, target);
    ExpectKernelAgrees(profile, account, growth, {.left_out = LeftOutSince(left_out)});
    EXPECT_EQ(account.pid, target);
    EXPECT_EQ(account.inner_pid, static_cast<pid_t>(program.SaidNumber("inside")));
    EXPECT_EQ(account.inner_tid, account.inner_pid);
    const Found found = Find(profile, target, "WaitInNamespace");
    ExpectLeaves(profile, found, "WaitInNamespace", "nanosleep", model::kTaskInterruptible);
    ExpectModule(profile, found, "hidden-program");
    ExpectMeasured(profile, target, found, program.Waits("namespace").second);
  }
};

TEST_F(NamespaceTest, ATargetInNamespacesOfItsOwnIsFollowedAndNamed) {
  Program program("namespace", {folder() + "/hidden", "5000000"});
  OFFCPU_AWAIT_READY(program);
  ExpectFollowed(program, program.tid("inner"), /*inside=*/false);
}

TEST_F(NamespaceTest, ARecorderInAPidNamespaceTakesItsPidsFromThere) {
  Program program("namespace", {folder() + "/hidden", "5000000"});
  OFFCPU_AWAIT_READY(program);
  ExpectFollowed(program, static_cast<pid_t>(program.SaidNumber("inside")), /*inside=*/true);
}

TEST_F(StacksTest, OnlyTheWantedKindsOfStacksAreTakenAndTimeStaysTheSame) {
  struct Case {
    const char* kinds;
    bool user;
    bool kernel;
  };
  for (const Case& wanted : {Case{"none", false, false}, Case{"user", true, false},
                             Case{"kernel", false, true}, Case{"user,kernel", true, true}}) {
    SCOPED_TRACE(wanted.kinds);
    Program program("nanosleep", {"5", "2000000"});
    OFFCPU_AWAIT_READY(program);
    const Session session = Record(program, {"--stacks", wanted.kinds});
    ExpectLaws(session);
    const pid_t pid = program.pid();
    const Found all = Find(session.profile, pid, "");
    ExpectIntervals(session.profile, all, 7);  // five sleeps, and the waits before and after
    ExpectIntervals(session.profile, Find(session.profile, pid, "WaitInNanosleep"),
                    wanted.user ? 5 : 0);
    uint64_t with_kernel = 0;
    for (const profile::Entry* entry : all.entries) {
      if (entry->kernel_stack != 0) with_kernel += entry->intervals;
    }
    EXPECT_EQ(with_kernel, wanted.kernel ? all.intervals : 0U);
  }
}

}  // namespace
}  // namespace offcpu::live
