// SPDX-License-Identifier: MIT
#include "record/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace offcpu::record {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

// Ids that no living process has: PID_MAX_LIMIT is the first one that is never given.
constexpr model::Pid kServer = (1 << 22) - 10;
constexpr model::Tid kWorker = kServer + 1;
constexpr model::Pid kChild = kServer + 2;

// A command whose life is told by events alone; nothing of it is in /proc.
class SessionTest : public testing::Test {
 protected:
  static Options CommandOptions() {
    Options options;
    options.target.kind = Target::Kind::kCommand;
    options.target.pids = {kServer};
    options.target.follow_children = true;
    return options;
  }

  void Exec(Nanos time, model::Pid pid, const char* name, model::Cpu cpu = 0) {
    model::CommChange change{time, cpu, pid, pid, true, model::MakeComm(name)};
    session.OnCommChange(change);
  }
  void Switch(Nanos time, model::Tid prev, uint32_t state, model::Tid next, model::Cpu cpu = 0) {
    model::Switch event;
    event.time = time;
    event.cpu = cpu;
    event.prev_tid = prev;
    event.prev_pid = prev == kWorker ? kServer : prev;
    event.next_tid = next;
    event.prev_state = state;
    event.prev_comm = model::MakeComm("work");
    session.OnSwitch(event);
  }
  profile::Profile Finish(Nanos end) {
    return session.Finish(end, {}, [](model::Cpu) { return std::optional<int64_t>(); });
  }
  static const profile::Thread* Find(const profile::Profile& profile, model::Tid tid) {
    for (const profile::Thread& thread : profile.threads) {
      if (thread.tid == tid) return &thread;
    }
    return nullptr;
  }

  Session session{CommandOptions()};
};

TEST_F(SessionTest, TheWindowOfACommandBeginsAtItsExec) {
  session.Begin(100);
  Switch(150, kServer, model::kTaskInterruptible, 0);  // still the recorder's child
  Switch(180, 0, 0, kServer);
  EXPECT_FALSE(session.window_open());
  Exec(200, kServer, "server");
  Switch(250, kServer, model::kTaskInterruptible, 0);
  Switch(300, 0, 0, kServer);
  const profile::Profile profile = Finish(400);
  EXPECT_EQ(profile.window_ns, 200U);
  const profile::Thread* thread = Find(profile, kServer);
  ASSERT_NE(thread, nullptr);
  EXPECT_EQ(thread->first_ns, 0U);
  EXPECT_EQ(thread->last_ns, 200U);
  EXPECT_EQ(thread->on_cpu_ns, 150U);
  EXPECT_EQ(thread->voluntary_switches, 1U);
  ASSERT_THAT(profile.entries, SizeIs(1));
  EXPECT_EQ(profile.entries[0].observed_ns, 50U);
  EXPECT_EQ(profile.String(thread->process), "server");
}

// Where a thread's own events are all there is, its exit is the last that is seen of it, and
// switches carry no names.
TEST_F(SessionTest, AThreadOfWhichNothingMoreIsSeenEndsWithItsExitAndHasItsName) {
  session.Begin(0);
  Exec(100, kServer, "server");
  session.OnFork({110, kServer, kWorker, kServer, kServer});
  session.OnSwitchIn({120, 1, kWorker});
  model::Switch out;
  out.time = 130;
  out.cpu = 1;
  out.prev_tid = kWorker;
  out.prev_pid = kServer;
  out.next_tid = -1;
  out.prev_state = model::kTaskUnknownState;
  session.OnSwitch(out);
  session.OnSwitchIn({160, 1, kWorker});
  session.OnExit({170, kServer, kWorker, /*last=*/true});
  const profile::Profile profile = Finish(200);
  const profile::Thread* worker = Find(profile, kWorker);
  ASSERT_NE(worker, nullptr);
  EXPECT_EQ(worker->last_ns, 70U);
  EXPECT_EQ(worker->on_cpu_ns, 20U);
  EXPECT_EQ(worker->unknown_ns, 0U);
  EXPECT_EQ(worker->voluntary_switches, 1U) << "none is made up for the exit";
  ASSERT_THAT(profile.entries, SizeIs(1));
  EXPECT_EQ(profile.String(profile.entries[0].comm), "server");
}

TEST_F(SessionTest, ThreadsAndChildProcessesThatAreBornAndDieAreAllThere) {
  session.Begin(0);
  Exec(100, kServer, "server");
  session.OnFork({110, kServer, kWorker, kServer, kServer});
  session.OnFork({120, kChild, kChild, kServer, kServer});
  Switch(130, kServer, model::kTaskInterruptible, kWorker);
  Switch(140, kWorker, model::kTaskDead, kChild);
  Exec(145, kChild, "child");
  session.OnExit({148, kChild, kChild});
  Switch(150, kChild, model::kTaskZombie, 0);
  const profile::Profile profile = Finish(200);
  ASSERT_NE(Find(profile, kWorker), nullptr);
  EXPECT_EQ(Find(profile, kWorker)->newborn_ns, 20U);
  EXPECT_EQ(Find(profile, kWorker)->on_cpu_ns, 10U);
  ASSERT_NE(Find(profile, kChild), nullptr);
  EXPECT_EQ(profile.String(Find(profile, kChild)->process), "child");
  EXPECT_EQ(Find(profile, kChild)->last_ns, 50U);
  EXPECT_FALSE(session.TargetEnded());
}

TEST_F(SessionTest, ForeignProcessesLeaveNoTrace) {
  session.Begin(0);
  Exec(100, kServer, "server");
  Switch(130, kServer, model::kTaskInterruptible, 77);
  Switch(140, 77, model::kTaskInterruptible, kServer);
  const profile::Profile profile = Finish(200);
  EXPECT_EQ(Find(profile, 77), nullptr);
  EXPECT_THAT(profile.threads, SizeIs(2));  // the placeholder and the server
}

// K2: the exec of a thread that is not the leader.
TEST_F(SessionTest, AThreadThatCallsExecTakesOverTheLeadersId) {
  session.Begin(0);
  Exec(100, kServer, "server");
  session.OnFork({110, kServer, kWorker, kServer, kServer});
  Switch(120, kServer, model::kTaskInterruptible, kWorker);
  session.OnExit({130, kServer, kServer});
  Switch(131, 0, 0, kServer, 1);
  Switch(132, kServer, model::kTaskZombie, 0, 1);
  Exec(140, kServer, "other");
  Switch(150, kServer, model::kTaskInterruptible, 0);
  Switch(180, 0, 0, kServer);
  const profile::Profile profile = Finish(200);
  std::vector<Nanos> lives;
  for (const profile::Thread& thread : profile.threads) {
    if (thread.tid == kServer) lives.push_back(thread.last_ns - thread.first_ns);
  }
  EXPECT_THAT(lives, ElementsAre(32, 60)) << "the old leader until its death, the new one since";
  EXPECT_EQ(Find(profile, kWorker)->last_ns, 40U);
  for (const profile::Counter& note : profile.notes) EXPECT_NE(note.name, "hidden_switches");
}

TEST_F(SessionTest, ALossStandsInTheProfileWithItsPlace) {
  session.Begin(0);
  Exec(100, kServer, "server");
  Switch(120, kServer, model::kTaskInterruptible, 0);
  session.OnLoss({1, 130, 150, 7});
  Switch(160, 0, 0, kServer);
  const profile::Profile profile = Finish(200);
  EXPECT_EQ(profile.lost_events, 7U);
  EXPECT_THAT(profile.losses, ElementsAre(profile::LossSpan{1, 30, 50, 7}));
  EXPECT_THAT(profile.entries, SizeIs(0));
  EXPECT_EQ(Find(profile, kServer)->unknown_ns, 40U);
}

TEST_F(SessionTest, WhatIsNotKeptIsCountedAndTheAccountsAreTheSame) {
  session.Begin(0);
  Exec(100, kServer, "server");
  Switch(110, kServer, model::kTaskRunning, 0);
  Switch(130, 0, 0, kServer);
  const profile::Profile profile = Finish(200);
  EXPECT_THAT(profile.entries, SizeIs(0));
  EXPECT_THAT(profile.rejected, ElementsAre(profile::Counter{"reason", 1, 20}));
  EXPECT_EQ(Find(profile, kServer)->runnable_ns, 20U);
}

TEST_F(SessionTest, ACommandThatNeverRanHasAnEmptyProfile) {
  session.Begin(0);
  const profile::Profile profile = Finish(200);
  EXPECT_EQ(profile.window_ns, 0U);
  EXPECT_THAT(profile.entries, SizeIs(0));
}

}  // namespace
}  // namespace offcpu::record
