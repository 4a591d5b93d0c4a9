// SPDX-License-Identifier: MIT
// Lost events: said, and never made up for.
#include <csignal>
#include <map>
#include <string>

#include "tests/support/live.h"
#include "tests/support/live_view.h"

namespace offcpu::live {
namespace {

using LossTest = LiveTest;

// Each wait in a pipe has a stack of its own, so an entry is one interval.
using WaitTimes = std::map<std::pair<pid_t, std::string>, const profile::Entry*>;

WaitTimes WaitsInPipe(const profile::Profile& profile, pid_t tid) {
  WaitTimes times;
  for (const profile::Entry* entry : Find(profile, tid, "WaitInPipe").entries) {
    std::string key;
    for (const profile::FrameId frame : FramesOf(profile, entry->user_stack)) {
      key.append(profile.String(profile.frames[frame].name)).push_back(';');
    }
    EXPECT_EQ(entry->intervals, 1U) << key;
    times[{tid, key}] = entry;
  }
  return times;
}

// The recorder with the small ring stands still for a while, so that it certainly loses events.
// Strict alternation of two threads on a CPU hides them from a check of continuity.
TEST_F(LossTest, ASmallRingLosesEventsAndNoIntervalIsMadeUp) {
  constexpr Nanos kTolerance =
      1'000'000;  // one recorder's interrupted clock read against the other's
  Program program("many_stacks",
                  {"--cpu", std::to_string(Cpus().front()), "pipe", "100", "4000", "100"});
  OFFCPU_AWAIT_READY(program);
  const Arguments target = {"-p", std::to_string(program.pid())};
  Recorder whole = StartRecorder(target);
  ASSERT_TRUE(whole.AwaitStart());
  Arguments small_ring = target;
  small_ring.insert(small_ring.end(), {"--buffer-size", "8K"});
  Recorder lossy = StartRecorder(small_ring);
  ASSERT_TRUE(lossy.AwaitStart());
  program.Go();
  ASSERT_TRUE(program.Await("phase"));
  lossy.child().Signal(SIGSTOP);
  program.Go();
  ASSERT_TRUE(program.Await("phase"));
  lossy.child().Signal(SIGCONT);
  program.Go();
  ASSERT_TRUE(program.Await("done"));
  ReadAll(program);
  EXPECT_EQ(lossy.Stop(), 2) << lossy.Output();
  EXPECT_EQ(whole.Stop(), 0) << whole.Output();
  const profile::Profile complete = whole.Load();
  const profile::Profile partial = lossy.Load();
  ExpectNoLoss(complete);
  ExpectConserved(complete);
  ExpectConserved(partial);
  EXPECT_GT(partial.lost_events, 0U);
  ASSERT_FALSE(partial.losses.empty());
  const Nanos burst = std::stoull(program.Said("took").at(1).at(0));
  ASSERT_GT(burst, 2 * kTolerance) << "an interval over the loss would not be noticed";

  for (const char* name : {"ping", "pong"}) {
    const pid_t tid = program.tid(name);
    const WaitTimes all = WaitsInPipe(complete, tid);
    const WaitTimes some = WaitsInPipe(partial, tid);
    EXPECT_LT(some.size(), all.size());
    EXPECT_FALSE(some.empty());
    for (const auto& [stack, entry] : some) {
      const auto found = all.find(stack);
      ASSERT_NE(found, all.end()) << stack.second << " is not in the complete recording";
      EXPECT_LE(entry->observed_ns, found->second->observed_ns + kTolerance) << stack.second;
    }
    const profile::Thread account = AccountOf(partial, tid);
    EXPECT_LT(account.voluntary_switches, AccountOf(complete, tid).voluntary_switches);
    EXPECT_GT(account.unknown_ns, burst / 2) << "the time of the loss is unknown";
  }
}

TEST_F(LossTest, TwoRecordersAtOnceDoNotDisturbEachOther) {
  Program program("pipe", {"1000"});
  OFFCPU_AWAIT_READY(program);
  Arguments arguments = AllReasons();
  arguments.insert(arguments.end(), {"-p", std::to_string(program.pid())});
  Recorder other = StartRecorder(arguments);
  ASSERT_TRUE(other.AwaitStart());
  const Nanos left_out = LeftOutTime();
  const Session session = Record(program);
  EXPECT_EQ(other.Stop(), 0) << other.Output();
  ExpectLaws(session);
  const profile::Profile profile = other.Load();
  ExpectNoLoss(profile);
  ExpectConserved(profile);
  for (const auto& [tid, growth] : session.growth) {
    ExpectKernelAgrees(profile, AccountOf(profile, tid), growth,
                       {.left_out = LeftOutSince(left_out)});
  }
}

}  // namespace
}  // namespace offcpu::live
