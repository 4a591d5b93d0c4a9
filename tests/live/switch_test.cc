// SPDX-License-Identifier: MIT
// The `switch` back end: with all rights, as an ordinary user, and beside `perf`.
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <vector>

#include "process/proc_reader.h"
#include "source/perf/perf_source.h"
#include "source/perf/switch_source.h"
#include "tests/support/live.h"
#include "tests/support/live_view.h"
#include "tests/support/sysctl.h"

namespace offcpu::live {
namespace {

namespace fs = std::filesystem;
using model::Reason;

const char* const kParanoid = "/proc/sys/kernel/perf_event_paranoid";

Arguments WithSwitch(const Arguments& more = {}) {
  Arguments arguments = {"--backend", "switch", "--reasons", "blocked,runnable,preempted"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

// What this back end cannot know is absent.
void ExpectNothingGuessed(const profile::Profile& profile) {
  EXPECT_EQ(profile.origin.backend, "switch");
  EXPECT_FALSE(profile.origin.time_split);
  for (size_t i = 1; i < profile.threads.size(); ++i) {
    const profile::Thread& thread = profile.threads[i];
    EXPECT_EQ(thread.sleeping_ns + thread.runqueue_ns, 0U);
    EXPECT_EQ(thread.preempted_ns, 0U);
    EXPECT_FALSE(profile.String(thread.comm).empty());
  }
  for (const profile::Entry& entry : profile.entries) {
    EXPECT_NE(entry.reason, Reason::kPreempted);
    EXPECT_FALSE(profile.String(entry.comm).empty());
  }
}

// ---- with all rights ----------------------------------------------------------------------------

using SwitchTest = LiveCpuTest;

TEST_P(SwitchTest, EachNanosleepIsOneBlockedIntervalWithItsStack) {
  Program program = OnCpu("nanosleep", {"20", "2000000"});
  OFFCPU_AWAIT_READY(program);
  const Session session = Record(program, WithSwitch());
  ExpectLaws(session);
  ExpectNothingGuessed(session.profile);
  const Found found = Find(session.profile, program.pid(), "WaitInNanosleep");
  EXPECT_EQ(found.intervals, 20U);
  for (const profile::Entry* entry : found.entries) {
    EXPECT_EQ(NamesOf(session.profile, entry->user_stack).back(), "WaitInNanosleep");
    EXPECT_EQ(NamesOf(session.profile, entry->kernel_stack).back(), "hrtimer_nanosleep");
    EXPECT_EQ(entry->task_state, model::kTaskUnknownState);
  }
  ExpectMeasured(session.profile, program.pid(), found, program.Waits("nanosleep").second);
}

TEST_P(SwitchTest, TheKernelCountsTheSameSwitches) {
  const std::map<std::string, Arguments> programs = {
      {"pipe", {"500"}}, {"yield", {"500"}}, {"contention", {"3", "50000000", "born"}}};
  for (const auto& [name, arguments] : programs) {
    SCOPED_TRACE(name);
    Program program = OnCpu(name, arguments);
    OFFCPU_AWAIT_READY(program);
    const Session session = Record(program, WithSwitch());
    ExpectLaws(session);
    ExpectNothingGuessed(session.profile);
  }
}

TEST_P(SwitchTest, TheLastSwitchOutOfAnEndedProcessCounts) {
  Program program = OnCpu("zombie", {"3", "5000000"});
  OFFCPU_AWAIT_READY(program);
  const Session session = Record(program, WithSwitch({"--follow"}));
  ExpectLaws(session);
  const pid_t child = static_cast<pid_t>(program.SaidNumber("child"));
  const Counters all = ReadAsleep(child, {child, -1});
  ExpectKernelAgrees(session.profile, AccountOf(session.profile, child), all,
                     {.left_out = session.left_out});
  EXPECT_EQ(Find(session.profile, child, "WaitInChild").intervals, 3U);
  EXPECT_EQ(Find(session.profile, child, "").right_open, 0U) << "no wait after the end";
}

TEST_P(SwitchTest, ExecKeepsTheThreadAndChangesItsName) {
  Program program = OnCpu("exec", {"leader", "5000000"});
  OFFCPU_AWAIT_READY(program);
  const Session session = Record(program, WithSwitch());
  ExpectLaws(session);
  const Found before = Find(session.profile, program.pid(), "WaitBeforeExec");
  const Found after = Find(session.profile, program.pid(), "WaitAfterExec");
  ASSERT_EQ(before.intervals, 1U);
  ASSERT_EQ(after.intervals, 1U);
  EXPECT_EQ(session.profile.String(before.entries[0]->comm), "before-exec");
  EXPECT_EQ(session.profile.String(after.entries[0]->comm), "exe");
}

INSTANTIATE_TEST_SUITE_P(FirstAndLastCpu, SwitchTest, ::testing::Values(0, 1));

// ---- beside perf --------------------------------------------------------------------------------

// The switches of some threads.
class Collector : public model::EventSink {
 public:
  struct Event {
    Nanos time = 0;
    bool in = false;
    bool blocked = false;
  };
  explicit Collector(const std::vector<pid_t>& tids) {
    for (pid_t tid : tids) events[tid];
  }

  void OnSwitch(const model::Switch& event) override {
    const Reason reason = model::ReasonOf(event.prev_state, event.preempted);
    Add(event.prev_tid, {event.time, false, reason == Reason::kBlocked});
    Add(event.next_tid, {event.time, true, false});
  }
  void OnSwitchIn(const model::SwitchIn& event) override {
    Add(event.tid, {event.time, true, false});
  }
  void OnWakeup(const model::Wakeup&) override {}
  void OnFork(const model::Fork&) override {}
  void OnCommChange(const model::CommChange&) override {}
  void OnExit(const model::Exit&) override {}
  void OnMap(const model::Map&) override {}
  void OnCgroupMove(const model::CgroupMove&) override {}
  void OnLoss(const model::Loss& loss) override { losses += loss.count; }

  std::map<model::Tid, std::vector<Event>> events;
  uint64_t losses = 0;

 private:
  void Add(model::Tid tid, Event event) {
    const auto thread = events.find(tid);
    if (thread == events.end()) return;
    // A switch-in may be told by the switch and by the thread itself.
    if (event.in && !thread->second.empty() && thread->second.back().in) return;
    thread->second.push_back(event);
  }
};

// Of the events of one thread, told by both: how many are further apart than the bound.
size_t ComparePerThread(const std::vector<Collector::Event>& a,
                        const std::vector<Collector::Event>& b) {
  constexpr Nanos kBound = 20'000;
  EXPECT_EQ(a.size(), b.size());
  size_t apart = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    EXPECT_EQ(a[i].in, b[i].in) << "event " << i;
    EXPECT_EQ(a[i].blocked, b[i].blocked) << "event " << i;
    const Nanos distance = a[i].time > b[i].time ? a[i].time - b[i].time : b[i].time - a[i].time;
    apart += distance > kBound ? 1 : 0;
  }
  return apart;
}

// Both see each switch; the times differ by what the other's event costs there, unless the vCPU was
// taken away in between.
TEST_P(SwitchTest, PerfSeesTheSameIntervals) {
  const std::map<std::string, Arguments> programs = {{"pipe", {"500"}}, {"yield", {"500"}}};
  for (const auto& [name, arguments] : programs) {
    SCOPED_TRACE(name);
    Program program = OnCpu(name, arguments);
    OFFCPU_AWAIT_READY(program);
    ReadAll(program);
    source::Request request;
    request.read_exec_start = [](model::Tid) { return std::optional<Nanos>(); };
    request.list_threads = process::ListThreads;
    request.target.kind = source::Target::Kind::kProcesses;
    request.target.processes = {program.pid()};
    std::vector<pid_t> tids;
    for (const SleepingPlace& place : program.Places()) tids.push_back(place.tid);
    Collector by_perf(tids);
    Collector by_switch(tids);
    auto perf = source::perf::PerfSource::Open(request);
    ASSERT_TRUE(perf) << perf.error().message;
    auto switches = source::perf::SwitchSource::Open(request);
    ASSERT_TRUE(switches) << switches.error().message;
    ASSERT_TRUE((*perf)->StartSideband() && (*perf)->Start());
    ASSERT_TRUE((*switches)->StartSideband() && (*switches)->Start());
    program.Go();
    ASSERT_TRUE(program.Await("done"));
    ReadAll(program);
    (*switches)->Stop(by_switch);
    (*perf)->Stop(by_perf);
    EXPECT_EQ(by_perf.losses + by_switch.losses, 0U);
    size_t events = 0;
    size_t apart = 0;
    for (pid_t tid : tids) {
      SCOPED_TRACE(tid);
      events += by_perf.events[tid].size();
      apart += ComparePerThread(by_perf.events[tid], by_switch.events[tid]);
    }
    EXPECT_GT(events, 1000U);
    EXPECT_LE(apart, events / 100);
  }
}

// ---- as an ordinary user ------------------------------------------------------------------------

class SwitchUserTest : public LiveTest, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    LiveTest::SetUp();
    if (IsSkipped()) return;
    ::chmod(folder().c_str(), 0777);
    paranoid_ = std::make_unique<Sysctl>(kParanoid, GetParam());
    if (!paranoid_->Has(GetParam())) GTEST_SKIP() << kParanoid << " can't be set here";
  }
  bool stacks() const { return std::string_view(GetParam()) == "1"; }

  // The user must be able to reach what is run.
  std::string CopyOf(const std::string& path) {
    const std::string copy = folder() + "/" + fs::path(path).filename().string();
    if (fs::exists(copy)) return copy;
    fs::copy_file(path, copy);
    fs::permissions(copy, fs::perms(0755));
    return copy;
  }
  Program UserProgram(const std::string& name, const Arguments& arguments) {
    Arguments words = AsNobody();
    const std::string setpriv = words.front();
    words.erase(words.begin());
    words.push_back(CopyOf(ProgramPath(name)));
    words.insert(words.end(), arguments.begin(), arguments.end());
    return Program(name, words, setpriv);
  }
  Recorder UserRecorder(const Arguments& arguments) {
    return Recorder({.arguments = WithSwitch(arguments),
                     .file = NewFile(),
                     .runner = AsNobody(),
                     .program = CopyOf(OffcpuPath())});
  }

  // With stacks, or without any and saying so.
  void ExpectStacks(const Recorder& recorder, const profile::Profile& profile) const {
    const bool said = recorder.Remarks().find("no stacks") != std::string::npos;
    EXPECT_EQ(said, !stacks()) << recorder.Remarks();
    for (const profile::Entry& entry : profile.entries) {
      if (entry.left_open > 0) continue;
      const size_t frames = NamesOf(profile, entry.kernel_stack).size();
      EXPECT_EQ(frames > 1, stacks());
    }
  }

 private:
  std::unique_ptr<Sysctl> paranoid_;
};

TEST_P(SwitchUserTest, ThreadsOfOnesOwnProcessAreRecordedAsTheKernelCounts) {
  const std::map<std::string, Arguments> programs = {{"nanosleep", {"20", "2000000"}},
                                                     {"pipe", {"500"}},
                                                     {"yield", {"500"}},
                                                     {"contention", {"3", "50000000", "born"}}};
  for (const auto& [name, arguments] : programs) {
    SCOPED_TRACE(name);
    Program program = UserProgram(name, arguments);
    OFFCPU_AWAIT_READY(program);
    std::map<pid_t, Counters> before = ReadAll(program);
    Session session;
    const Nanos left_out = LeftOutTime();
    Recorder recorder = UserRecorder({"-p", std::to_string(program.pid())});
    ASSERT_TRUE(recorder.AwaitStart());
    program.Go();
    ASSERT_TRUE(program.Await("done"));
    for (const auto& [tid, after] : ReadAll(program)) session.growth[tid] = after - before[tid];
    session.status = recorder.Stop();
    session.remarks = recorder.Remarks();
    session.profile = recorder.Load();
    session.left_out = LeftOutSince(left_out);
    ExpectLaws(session);
    ExpectNothingGuessed(session.profile);
    ExpectStacks(recorder, session.profile);
  }
}

// A thread's own events end with its exit record, some way before the thread: up to there all is
// told. What it waits for in the rest of do_exit() the kernel still counts, for the leader the last
// switch-out, too.
TEST_P(SwitchUserTest, ThreadsBornAndDeadInTheRecordingAreAllThere) {
  constexpr uint64_t kThreads = 200;
  Program program = UserProgram("pool", {std::to_string(kThreads), "1000000", "10"});
  OFFCPU_AWAIT_READY(program);
  const pid_t pid = program.pid();
  const Counters before = ReadAsleep(pid, {pid, SYS_read});
  Recorder recorder = UserRecorder({"-p", std::to_string(pid)});
  ASSERT_TRUE(recorder.AwaitStart());
  program.Go();
  ASSERT_TRUE(program.Await("done"));
  const ChildEnd end = program.Finish();
  EXPECT_EQ(recorder.Wait(), 0) << recorder.Output();
  const profile::Profile profile = recorder.Load();
  ExpectNoLoss(profile);
  ExpectConserved(profile);
  ExpectNothingGuessed(profile);
  uint64_t voluntary = 0;
  for (const profile::Thread& thread : profile.threads) voluntary += thread.voluntary_switches;
  const uint64_t known = static_cast<uint64_t>(end.usage.ru_nvcsw) - before.voluntary - 1;
  EXPECT_LE(voluntary, known);
  EXPECT_GE(voluntary + kThreads, known);
  ASSERT_EQ(program.Said("lived").size(), kThreads);
  for (const Arguments& fields : program.Said("lived")) {
    const profile::Thread account = AccountOf(profile, std::stoi(fields.at(0)));
    EXPECT_GE(account.voluntary_switches, std::stoull(fields.at(1)));
    EXPECT_GE(account.involuntary_switches, std::stoull(fields.at(2)));
    EXPECT_LT(account.last_ns, profile.window_ns) << "it ends with its exit";
    EXPECT_EQ(account.unknown_ns, 0U);
  }
}

TEST_P(SwitchUserTest, ACommandIsRecordedFromItsExecOn) {
  Recorder recorder = UserRecorder({"--", CopyOf(ProgramPath("nanosleep")), "20", "2000000"});
  EXPECT_EQ(recorder.Wait(), 0) << recorder.Output();
  const profile::Profile profile = recorder.Load();
  ExpectNoLoss(profile);
  ExpectConserved(profile);
  ExpectNothingGuessed(profile);
  ExpectStacks(recorder, profile);
  ASSERT_EQ(profile.threads.size(), 2U) << "a placeholder and the thread";
  EXPECT_EQ(profile.String(profile.threads[1].comm), "nanosleep");
  EXPECT_EQ(profile.threads[1].first_ns, 0U);
  EXPECT_EQ(profile.threads[1].unknown_ns, 0U);
  EXPECT_GE(profile.threads[1].voluntary_switches, 20U);
  EXPECT_GE(profile.threads[1].blocked_ns(), 20U * 1'800'000U);
  if (!stacks()) return;
  EXPECT_EQ(Find(profile, profile.threads[1].tid, "WaitInNanosleep").intervals, 20U);
}

TEST_P(SwitchUserTest, AllThreadsOfTheMachineAreRefusedAndItIsSaidWhatWouldHelp) {
  Recorder recorder = UserRecorder({"-a", "-d", "100ms"});
  EXPECT_EQ(recorder.Wait(), 77);
  EXPECT_NE(recorder.Output().find("CAP_PERFMON"), std::string::npos) << recorder.Output();
}

TEST_P(SwitchUserTest, TooFewDescriptorsAreNamedWithTheirNumbers) {
  Program program = UserProgram("contention", {"100", "1"});
  OFFCPU_AWAIT_READY(program);
  Arguments runner = AsNobody();
  runner.insert(runner.begin(), {"prlimit", "--nofile=100:100"});
  Recorder recorder({.arguments = WithSwitch({"-p", std::to_string(program.pid())}),
                     .file = NewFile(),
                     .runner = runner,
                     .program = CopyOf(OffcpuPath())});
  EXPECT_EQ(recorder.Wait(), 1);
  EXPECT_NE(recorder.Remarks().find("101 threads on"), std::string::npos) << recorder.Remarks();
  EXPECT_NE(recorder.Remarks().find("the limit is 100"), std::string::npos) << recorder.Remarks();
}

INSTANTIATE_TEST_SUITE_P(Paranoid, SwitchUserTest, ::testing::Values("1", "2"));

}  // namespace
}  // namespace offcpu::live
