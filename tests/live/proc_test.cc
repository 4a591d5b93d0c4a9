// SPDX-License-Identifier: MIT
// The back end that needs no privilege: an ordinary user samples a process of their own, while root
// records the same process through perf.
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include "base/clock.h"
#include "tests/support/live.h"
#include "tests/support/live_view.h"

namespace offcpu::live {
namespace {

constexpr uid_t kNobody = 65534;

void Nap(long micros) {
  const timespec time{0, micros * 1000};
  ::nanosleep(&time, nullptr);
}

// What the threads do, for ever. Each switch costs some microseconds, which perf and the kernel's
// counters see on different sides of it, so there are few of them.
void SleepAgainAndAgain() {
  while (true) Nap(3000);
}
void Spin() {
  while (true) {
    asm volatile("");  // work that can't be optimized away
  }
}
void Answer(int from, int to) {
  char byte = 0;
  while (::read(from, &byte, 1) == 1 && ::write(to, &byte, 1) == 1) {
  }
}
void Ask(int from, int to) {
  char byte = 0;
  while (::write(to, &byte, 1) == 1 && ::read(from, &byte, 1) == 1) Nap(5000);
}

enum Role { kSleeper, kSpinner, kAsker, kRoles };
using Tids = std::array<pid_t, kRoles>;

[[noreturn]] void Work(int told) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  int there[2];
  int back[2];
  if (::setresgid(kNobody, kNobody, kNobody) != 0 || ::setresuid(kNobody, kNobody, kNobody) != 0 ||
      ::prctl(PR_SET_DUMPABLE, 1) != 0 || ::pipe(there) != 0 || ::pipe(back) != 0) {
    ::_exit(1);
  }
  const auto self = [] { return static_cast<pid_t>(::syscall(SYS_gettid)); };
  Tids tids{};
  std::atomic<int> ready = 0;
  const auto start = [&](pid_t& tid, auto work) {
    std::thread([&tid, &ready, self, work] {
      tid = self();
      ++ready;
      work();
    }).detach();
  };
  start(tids[kSleeper], SleepAgainAndAgain);
  start(tids[kSpinner], Spin);
  start(tids[kAsker], [&] { Ask(back[0], there[1]); });
  std::thread([&] { Answer(there[0], back[1]); }).detach();
  while (ready != kRoles) Nap(100);
  if (::write(told, tids.data(), sizeof(tids)) != sizeof(tids)) ::_exit(1);
  while (true) ::pause();
}

// A process of user 65534, ended with the test.
class Workload {
 public:
  Workload() {
    int told[2];
    if (::pipe(told) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) Work(told[1]);
    ::close(told[1]);
    ready_ = ::read(told[0], tids_.data(), sizeof(tids_)) == sizeof(tids_);
    ::close(told[0]);
  }
  ~Workload() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

  bool ready() const { return ready_; }
  pid_t pid() const { return pid_; }
  const Tids& tids() const { return tids_; }

 private:
  pid_t pid_ = -1;
  bool ready_ = false;
  Tids tids_{};
};

class ProcTest : public LiveTest {
 protected:
  void SetUp() override {
    LiveTest::SetUp();
    ASSERT_EQ(::chmod(folder().c_str(), 0777), 0);
    ASSERT_TRUE(workload_.ready());
  }

  std::unique_ptr<Recorder> AsNobody(Arguments arguments) {
    Recorder::Options options;
    options.arguments = {"--backend", "proc", "-p", std::to_string(workload_.pid())};
    options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
    options.file = NewFile();
    options.runner = live::AsNobody();
    return std::make_unique<Recorder>(options);
  }

  Workload workload_;
};

Nanos Waiting(const profile::Thread& thread) {
  return thread.runqueue_ns + thread.runnable_ns + thread.preempted_ns + thread.newborn_ns;
}

std::string Told(const profile::Thread& thread) {
  return fmt::format("first {} last {} on CPU {} sleeping {} waiting {} unknown {}",
                     thread.first_ns, thread.last_ns, thread.on_cpu_ns, thread.blocked_ns(),
                     Waiting(thread), thread.unknown_ns);
}

Nanos Difference(Nanos a, Nanos b) { return a > b ? a - b : b - a; }

// Parts of the two windows that the other does not cover.
Nanos NotShared(const profile::Profile& a, const profile::Profile& b) {
  return Difference(a.origin.start_monotonic_ns, b.origin.start_monotonic_ns) +
         Difference(a.origin.start_monotonic_ns + a.window_ns,
                    b.origin.start_monotonic_ns + b.window_ns);
}

// Perf's account can be held against another one only where perf itself knows: a thread of the
// machine that is hidden from tracepoints spoils the accounts of those that run beside it (KF 4).
bool KnowsAll(const profile::Profile& profile, const Tids& tids) {
  return std::all_of(tids.begin(), tids.end(), [&](pid_t tid) {
    return AccountOf(profile, tid).unknown_ns <= profile.window_ns / 100;
  });
}

// A recording that perf could not follow is made again; what it has to satisfy stays the same.
TEST_F(ProcTest, AccountsOfAnOrdinaryUserAreThoseOfPerf) {
  constexpr int kAttempts = 5;
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    Recorder perf = StartRecorder(
        {"--backend", "perf", "--reasons", "all", "-p", std::to_string(workload_.pid())});
    ASSERT_TRUE(perf.AwaitStart());
    const Nanos left_out = LeftOutTime();
    const auto proc = AsNobody({});
    ASSERT_TRUE(proc->AwaitStart());
    for (int i = 0; i < 200; ++i) Nap(10'000);
    EXPECT_EQ(proc->Stop(), 0) << proc->Output();
    EXPECT_EQ(perf.Stop(), 0) << perf.Output();
    const profile::Profile sampled = proc->Load();
    const profile::Profile exact = perf.Load();
    ExpectConserved(sampled);
    if (attempt < kAttempts && !KnowsAll(exact, workload_.tids())) continue;
    const Nanos bound =
        sampled.window_ns / 100 + NotShared(sampled, exact) + LeftOutSince(left_out);
    for (const pid_t tid : workload_.tids()) {
      const profile::Thread a = AccountOf(sampled, tid);
      const profile::Thread b = AccountOf(exact, tid);
      SCOPED_TRACE(Told(a) + "\n" + Told(b));
      EXPECT_LE(Difference(a.on_cpu_ns, b.on_cpu_ns), bound);
      EXPECT_LE(Difference(Waiting(a), Waiting(b)), bound);
      EXPECT_LE(Difference(a.sleeping_ns, b.sleeping_ns + b.unsplit_ns), bound);
      EXPECT_LE(a.unknown_ns, sampled.window_ns / 50);
    }
    return;
  }
}

TEST_F(ProcTest, ASleepersPlaceIsTheFunctionOfItsSystemCall) {
  const auto proc = AsNobody({"-d", "500ms"});
  EXPECT_EQ(proc->Wait(), 0) << proc->Output();
  const profile::Profile profile = proc->Load();
  EXPECT_EQ(profile.origin.sample_hz, 100U);
  EXPECT_EQ(profile.origin.backend, "proc");
  ExpectConserved(profile);
  const pid_t sleeper = workload_.tids()[kSleeper];
  Nanos in_place = 0;
  for (const profile::Entry* entry : Find(profile, sleeper, "").entries) {
    EXPECT_EQ(entry->user_stack, 0U) << "there are no user stacks, and none is made up";
    const std::vector<std::string> names = NamesOf(profile, entry->kernel_stack);
    ASSERT_FALSE(names.empty());
    const bool asleep = names.back().find("nanosleep") != std::string::npos &&
                        names.front() == "[syscall clock_nanosleep]";
    if (asleep) in_place += entry->observed_ns;
  }
  const profile::Thread account = AccountOf(profile, sleeper);
  EXPECT_GE(in_place * 10, account.sleeping_ns * 9) << "the rest moved on while it was looked at";
  EXPECT_GT(account.voluntary_switches, 0U);
}

TEST_F(ProcTest, WhatItCantTellIsSaid) {
  const auto proc = AsNobody({"-d", "100ms", "--min-off-cpu", "1ms", "--reasons", "all"});
  EXPECT_EQ(proc->Wait(), 0) << proc->Output();
  std::string warnings;
  for (const std::string& warning : proc->Load().warnings) warnings += warning + '\n';
  for (const char* word :
       {"sampled at 100 Hz", "runnable", "user stacks", "--min-off-cpu", "--reasons"}) {
    EXPECT_NE(warnings.find(word), std::string::npos) << word << " is not in:\n" << warnings;
  }
}

TEST_F(ProcTest, TheTargetsEndEndsIt) {
  auto workload = std::make_unique<Workload>();
  ASSERT_TRUE(workload->ready());
  Recorder::Options options;
  options.arguments = {"--backend", "proc", "-p", std::to_string(workload->pid())};
  options.file = NewFile();
  options.runner = live::AsNobody();
  Recorder recorder(options);
  ASSERT_TRUE(recorder.AwaitStart());
  workload.reset();
  EXPECT_EQ(recorder.Wait(), 0) << recorder.Output();
  ExpectConserved(recorder.Load());
}

TEST_F(ProcTest, ACommandIsSampledWithItsChildrenAndPassesOnItsStatus) {
  Recorder::Options options;
  options.arguments = {"--backend", "proc", "--", "sh", "-c", "sleep 0.3; exit 7"};
  options.file = NewFile();
  options.runner = live::AsNobody();
  Recorder recorder(options);
  EXPECT_EQ(recorder.Wait(), 7) << recorder.Output();
  const profile::Profile profile = recorder.Load();
  ExpectConserved(profile);
  ASSERT_GE(profile.threads.size(), 2U);
  Nanos sleeping = 0;
  for (const profile::Thread& thread : profile.threads) sleeping += thread.sleeping_ns;
  EXPECT_GE(sleeping, 200'000'000U);
}

}  // namespace
}  // namespace offcpu::live
