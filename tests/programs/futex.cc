// SPDX-License-Identifier: MIT
// futex [--cpu N] ROUNDS NS [pthread]: "holder" holds a lock for NS nanoseconds after "waiter" fell
// asleep on it, ROUNDS times; with a lock on a bare futex, or a mutex and a condition of pthread.
#include <pthread.h>

#include "workload.h"

namespace {

using workload::FutexWord;

// What both kinds of lock do; turn 1 is the holder's, 2 the waiter's.
struct BareLock {
  FutexWord lock{0};  // 0 free, 1 held, 2 held and waited for
  FutexWord turn{1};

  uintptr_t address() { return reinterpret_cast<uintptr_t>(&lock); }
  [[gnu::noinline]] void WaitForLock() {
    while (lock.exchange(2) != 0) workload::FutexWait(&lock, 2);
  }
  void Unlock() {
    lock.store(0);
    workload::FutexWake(&lock, 1);
  }
  [[gnu::noinline]] void WaitForTurn(uint32_t mine) {
    for (uint32_t now = turn.load(); now != mine; now = turn.load()) {
      workload::FutexWait(&turn, now);
    }
  }
  void GiveTurn(uint32_t next) {
    turn.store(next);
    workload::FutexWake(&turn, 1);
  }
};

struct PthreadLock {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_t turn_lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
  uint32_t turn = 1;

  uintptr_t address() { return reinterpret_cast<uintptr_t>(&lock); }
  [[gnu::noinline]] void WaitForLock() { pthread_mutex_lock(&lock); }
  void Unlock() { pthread_mutex_unlock(&lock); }
  [[gnu::noinline]] void WaitForTurn(uint32_t mine) {
    pthread_mutex_lock(&turn_lock);
    while (turn != mine) pthread_cond_wait(&turn_changed, &turn_lock);
    pthread_mutex_unlock(&turn_lock);
  }
  void GiveTurn(uint32_t next) {
    pthread_mutex_lock(&turn_lock);
    turn = next;
    pthread_cond_signal(&turn_changed);
    pthread_mutex_unlock(&turn_lock);
  }
};

[[gnu::noinline]] void HoldLock(workload::Nanos length) { workload::SleepHere(length); }

template <class Lock>
void Run(uint64_t rounds, workload::Nanos length) {
  static Lock lock;
  static workload::Waits waits;
  static std::atomic<pid_t> waiter{0};
  workload::Crew crew;
  crew.Add("holder", [=] {
    for (uint64_t i = 0; i < rounds; ++i) {
      lock.WaitForTurn(1);
      lock.WaitForLock();  // free: nobody waits
      lock.GiveTurn(2);
      workload::AwaitAsleepIn(waiter, SYS_futex, lock.address());
      HoldLock(length);
      lock.Unlock();
    }
  });
  waiter = crew.Add("waiter", [=] {
    for (uint64_t i = 0; i < rounds; ++i) {
      lock.WaitForTurn(2);
      waits.Around([] { lock.WaitForLock(); });
      lock.Unlock();
      lock.GiveTurn(1);
    }
  });
  workload::Ready();
  crew.Work();
  waits.Report("lock");
  workload::Done();
  crew.Leave();
}

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = workload::Begin(argc, argv);
  const uint64_t rounds = workload::Number(arguments, 0, 20);
  const uint64_t length = workload::Number(arguments, 1, 2'000'000);
  if (arguments.size() > 2) {
    Run<PthreadLock>(rounds, length);
  } else {
    Run<BareLock>(rounds, length);
  }
}
