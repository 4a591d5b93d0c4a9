// SPDX-License-Identifier: MIT
// The tracefs back end: the same answers as perf's, and nothing left behind.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/files.h"
#include "source/select.h"
#include "source/tracefs_files.h"
#include "tests/support/live.h"
#include "tests/support/live_view.h"

namespace offcpu::live {
namespace {

namespace fs = std::filesystem;

Arguments WithTracefs(Arguments arguments) {
  arguments.insert(arguments.end(), {"--backend", "tracefs"});
  return arguments;
}

std::string TracefsRoot() {
  const auto files = source::TracefsFiles::Find();
  return files ? files->root() : "";
}

// Instances that recorder `pid` made.
std::vector<std::string> InstancesOf(pid_t pid) {
  std::vector<std::string> found;
  const std::string prefix = "offcpu-" + std::to_string(pid) + "-";
  for (const auto& entry : fs::directory_iterator(TracefsRoot() + "/instances")) {
    if (entry.path().filename().string().starts_with(prefix)) found.push_back(entry.path());
  }
  return found;
}

class TracefsTest : public LiveTest {
 protected:
  Program OnFirstCpu(const std::string& name, Arguments arguments) {
    arguments.insert(arguments.begin(), {"--cpu", std::to_string(Cpus().front())});
    return Program(name, arguments);
  }
};

TEST_F(TracefsTest, EachNanosleepIsOneBlockedIntervalOfItsLength) {
  Program program = OnFirstCpu("nanosleep", {"20", "5000000"});
  OFFCPU_AWAIT_READY(program);
  const Session session = Record(program, WithTracefs(AllReasons()));
  ExpectLaws(session);
  const Found found = Find(session.profile, program.pid(), "WaitInNanosleep");
  ExpectIntervals(session.profile, found, 20);
  ExpectLeaves(session.profile, found, "WaitInNanosleep", "nanosleep", model::kTaskInterruptible);
  ExpectMeasured(session.profile, program.pid(), found, program.Waits("nanosleep").second);
}

TEST_F(TracefsTest, WaitingForALockIsOneBlockedIntervalEachTime) {
  Program program = OnFirstCpu("futex", {"20", "2000000"});
  OFFCPU_AWAIT_READY(program);
  const Session session = Record(program, WithTracefs(AllReasons()));
  ExpectLaws(session);
  const pid_t waiter = program.tid("waiter");
  const Found found = Find(session.profile, waiter, "WaitForLock");
  ExpectIntervals(session.profile, found, 20);
  ExpectLeaves(session.profile, found, "WaitForLock", "futex_wait", model::kTaskInterruptible);
  ExpectMeasured(session.profile, waiter, found, program.Waits("lock").second);
}

TEST_F(TracefsTest, PipePingPongIsCountedToTheLastSwitch) {
  Program program = OnFirstCpu("pipe", {"1000"});
  OFFCPU_AWAIT_READY(program);
  const Session session = Record(program, WithTracefs(AllReasons()));
  ExpectLaws(session);
  for (const char* name : {"ping", "pong"}) {
    const pid_t tid = program.tid(name);
    const Found found = Find(session.profile, tid, "WaitInPipe");
    if (IsRealTimeKernel()) continue;  // the pipe's lock is slept for as well, in state D
    ExpectLeaves(session.profile, found, "WaitInPipe", "pipe_read", model::kTaskInterruptible);
    ExpectMeasured(session.profile, tid, found, program.Waits(name).second);
  }
}

TEST_F(TracefsTest, ARingThatIsTooSmallSaysSoAndMakesNothingUp) {
  Program program = OnFirstCpu("many_stacks", {"pipe", "100", "4000", "100"});
  OFFCPU_AWAIT_READY(program);
  Recorder recorder =
      StartRecorder(WithTracefs({"-p", std::to_string(program.pid()), "--buffer-size", "8K"}));
  ASSERT_TRUE(recorder.AwaitStart());
  program.Go();
  ASSERT_TRUE(program.Await("phase"));
  recorder.child().Signal(SIGSTOP);
  program.Go();
  ASSERT_TRUE(program.Await("phase"));
  recorder.child().Signal(SIGCONT);
  program.Go();
  ASSERT_TRUE(program.Await("done"));
  ReadAll(program);
  EXPECT_EQ(recorder.Stop(), 2) << recorder.Output();
  const profile::Profile profile = recorder.Load();
  ExpectConserved(profile);
  EXPECT_GT(profile.lost_events, 0U);
  EXPECT_FALSE(profile.losses.empty());
  const Nanos burst = std::stoull(program.Said("took").at(1).at(0));
  for (const char* name : {"ping", "pong"}) {
    EXPECT_GT(AccountOf(profile, program.tid(name)).unknown_ns, burst / 2);
  }
}

// All switches of some threads.
class SwitchLog : public model::EventSink {
 public:
  explicit SwitchLog(const Program& program) {
    for (const SleepingPlace& place : program.Places()) tids_.push_back(place.tid);
  }
  void OnSwitch(const model::Switch& event) override {
    if (Follows(event.prev_tid) || Follows(event.next_tid)) {
      switches.push_back(event);
      switches.back().chain = {};
    }
  }
  void OnSwitchIn(const model::SwitchIn&) override {}
  void OnWakeup(const model::Wakeup&) override {}
  void OnFork(const model::Fork&) override {}
  void OnCommChange(const model::CommChange&) override {}
  void OnExit(const model::Exit&) override {}
  void OnMap(const model::Map&) override {}
  void OnCgroupMove(const model::CgroupMove&) override {}
  void OnLoss(const model::Loss&) override { ++losses; }

  std::vector<model::Switch> switches;
  int losses = 0;

 private:
  bool Follows(pid_t tid) const {
    return std::find(tids_.begin(), tids_.end(), tid) != tids_.end();
  }

  std::vector<pid_t> tids_;
};

// Both record the same switches, so that intervals begin and end at the same times with the same
// reason.
TEST_F(TracefsTest, EverySwitchIsTheOneThatPerfRecordsAtTheSameTime) {
  Program program = OnFirstCpu("pipe", {"1000"});
  OFFCPU_AWAIT_READY(program);
  source::Request request;
  request.read_exec_start = [](model::Tid) { return std::optional<Nanos>(); };
  struct Side {
    std::unique_ptr<source::Source> source;
    SwitchLog log;
    Nanos begin = 0;
    Nanos end = 0;
  };
  Side sides[] = {{nullptr, SwitchLog(program)}, {nullptr, SwitchLog(program)}};
  for (size_t i = 0; const char* name : {"perf", "tracefs"}) {
    auto opened = source::OpenBackEnd(name, request);
    ASSERT_TRUE(opened) << opened.error().message;
    sides[i++].source = std::move(opened->source);
  }
  ReadAll(program);
  const Nanos left_out_before = LeftOutTime();
  for (Side& side : sides) {
    ASSERT_TRUE(side.source->StartSideband());
    const auto begin = side.source->Start();
    ASSERT_TRUE(begin) << begin.error().message;
    side.begin = *begin;
  }
  program.Go();
  ASSERT_TRUE(program.Await("done"));
  ReadAll(program);
  for (Side& side : sides) side.end = side.source->Stop(side.log);
  const Nanos begin = std::max(sides[0].begin, sides[1].begin);
  const Nanos end = std::min(sides[0].end, sides[1].end);
  for (Side& side : sides) {
    EXPECT_EQ(side.log.losses, 0);
    std::erase_if(side.log.switches, [&](const model::Switch& event) {
      return event.time < begin || event.time > end;
    });
  }
  const auto& perf = sides[0].log.switches;
  const auto& tracefs = sides[1].log.switches;
  EXPECT_GT(perf.size(), 1000U);
  ASSERT_EQ(perf.size(), tracefs.size());
  // Interrupts are off between the two readings of the clock; only the hypervisor can come between.
  const Nanos bound = 20'000 + LeftOutSince(left_out_before);
  size_t close = 0;
  for (size_t i = 0; i < perf.size(); ++i) {
    EXPECT_EQ(perf[i].prev_tid, tracefs[i].prev_tid) << i;
    EXPECT_EQ(perf[i].next_tid, tracefs[i].next_tid) << i;
    EXPECT_EQ(perf[i].prev_state, tracefs[i].prev_state) << i;
    EXPECT_EQ(perf[i].preempted, tracefs[i].preempted) << i;
    EXPECT_EQ(perf[i].cpu, tracefs[i].cpu) << i;
    const Nanos later = std::max(perf[i].time, tracefs[i].time);
    const Nanos earlier = std::min(perf[i].time, tracefs[i].time);
    EXPECT_LE(later - earlier, bound) << i;
    close += later - earlier <= 20'000 ? 1 : 0;
  }
  EXPECT_GE(close * 100, perf.size() * 99);
}

TEST_F(TracefsTest, AllCpusWriteByOneClock) {
  Program program("nanosleep", {"1", "1000000"});
  OFFCPU_AWAIT_READY(program);
  Recorder recorder = StartRecorder(WithTracefs({"-p", std::to_string(program.pid())}));
  ASSERT_TRUE(recorder.AwaitStart());
  const auto instances = InstancesOf(recorder.child().pid());
  ASSERT_EQ(instances.size(), 1U);
  const auto clock = ReadSmallFile(instances.front() + "/trace_clock");
  ASSERT_TRUE(clock);
  EXPECT_NE(clock->find("[mono]"), std::string::npos) << *clock;
  EXPECT_EQ(recorder.Stop(), 0);
}

// What of the host's tracing a recording could disturb.
std::map<std::string, std::string> HostState() {
  std::map<std::string, std::string> state;
  for (const char* file : {"current_tracer", "tracing_on", "trace_clock", "events/enable",
                           "set_event", "buffer_size_kb", "trace_options", "set_event_pid"}) {
    state[file] = ReadSmallFile(TracefsRoot() + "/" + file).value_or("?");
  }
  return state;
}

TEST_F(TracefsTest, NothingOfTheHostsTracingChangesAndTheInstanceGoes) {
  Program program("nanosleep", {"1", "1000000"});
  OFFCPU_AWAIT_READY(program);
  const auto before = HostState();
  Recorder recorder = StartRecorder(WithTracefs({"-p", std::to_string(program.pid())}));
  ASSERT_TRUE(recorder.AwaitStart());
  EXPECT_EQ(HostState(), before) << "during the recording";
  EXPECT_EQ(InstancesOf(recorder.child().pid()).size(), 1U);
  EXPECT_EQ(recorder.Stop(), 0);
  EXPECT_EQ(HostState(), before);
  EXPECT_TRUE(InstancesOf(recorder.child().pid()).empty());
}

TEST_F(TracefsTest, NoInstanceStaysAfterAnError) {
  Recorder recorder = StartRecorder(WithTracefs({"--", "/nonexistent/program"}));
  EXPECT_EQ(recorder.Wait(), 127);
  EXPECT_TRUE(InstancesOf(recorder.child().pid()).empty());
}

TEST_F(TracefsTest, TheNextRecordingRemovesWhatAKilledOneLeft) {
  Program program("nanosleep", {"1", "1000000"});
  OFFCPU_AWAIT_READY(program);
  const Arguments arguments = WithTracefs({"-p", std::to_string(program.pid())});
  Recorder killed = StartRecorder(arguments);
  ASSERT_TRUE(killed.AwaitStart());
  killed.child().Signal(SIGKILL);
  EXPECT_EQ(killed.Wait(), 128 + SIGKILL);
  EXPECT_EQ(InstancesOf(killed.child().pid()).size(), 1U);
  Recorder next = StartRecorder(arguments);
  ASSERT_TRUE(next.AwaitStart());
  EXPECT_TRUE(InstancesOf(killed.child().pid()).empty());
  EXPECT_EQ(next.Stop(), 0);
  EXPECT_TRUE(InstancesOf(next.child().pid()).empty());
}

}  // namespace
}  // namespace offcpu::live
