// SPDX-License-Identifier: MIT
#pragma once

#include <linux/futex.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <list>
#include <string>
#include <thread>
#include <vector>

// What the workloads share. A workload says who its threads are and "ready", waits for a line (or
// the end) on standard input, works, says what it measured and "done", and waits again. So an
// observer finds each thread asleep in a known system call before and after the work, and can read
// its counters there while nothing changes them.
namespace workload {

using Nanos = uint64_t;

inline Nanos ReadClock(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<Nanos>(now.tv_sec) * 1'000'000'000 + static_cast<Nanos>(now.tv_nsec);
}
inline Nanos Now() { return ReadClock(CLOCK_MONOTONIC); }

// A system call made in the calling function itself, which is given a frame even if it needs none:
// libraries without frame pointers would hide their caller from a stack that is followed by them.
// Returns -errno on failure.
[[gnu::always_inline]] inline long Call(long number, long a = 0, long b = 0, long c = 0, long d = 0,
                                        long e = 0, long f = 0) {
  asm volatile("" ::"r"(__builtin_frame_address(0)));
#if defined(__x86_64__)
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  long result = number;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc 0"
               : "+r"(x0)
               : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
               : "memory");
  return x0;
#else
  const long result = ::syscall(number, a, b, c, d, e, f);
  return result < 0 ? -errno : result;
#endif
}

template <class T>
long Address(T* pointer) {
  return static_cast<long>(reinterpret_cast<uintptr_t>(pointer));
}

// Sleeps in the calling function, by CLOCK_MONOTONIC.
[[gnu::always_inline]] inline void SleepHere(Nanos length) {
  const timespec span{static_cast<time_t>(length / 1'000'000'000),
                      static_cast<long>(length % 1'000'000'000)};
  Call(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, Address(&span), 0);
}

[[noreturn]] inline void Die(const char* what) {
  std::perror(what);
  std::_Exit(1);
}

// One line on standard output, by one write.
[[gnu::format(printf, 1, 2)]] inline void Say(const char* format, ...) {
  char line[256];
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(line, sizeof(line) - 1, format, arguments);
  va_end(arguments);
  if (length < 0 || static_cast<size_t>(length) >= sizeof(line) - 1) std::_Exit(1);
  line[length] = '\n';
  if (::write(STDOUT_FILENO, line, static_cast<size_t>(length) + 1) < 0) Die("write");
}

// This workload can't do its work here.
[[noreturn]] inline void Skip(const char* what, int error = errno) {
  Say("skip %s: %s", what, std::strerror(error));
  std::_Exit(0);
}

inline pid_t Tid() { return static_cast<pid_t>(::syscall(SYS_gettid)); }

inline void NameThread(const char* name) { ::prctl(PR_SET_NAME, name); }

inline void PinTo(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (::sched_setaffinity(0, sizeof(set), &set) != 0) Die("sched_setaffinity");
}

// Waits for a line, or the end, on standard input.
[[gnu::noinline]] inline void WaitForLine() {
  char byte = 0;
  while (Call(SYS_read, STDIN_FILENO, Address(&byte), 1) == 1 && byte != '\n') {
  }
}
inline void Ready() {
  Say("ready");
  WaitForLine();
}
inline void Done() {
  Say("done");
  WaitForLine();
}

// The arguments after an optional "--cpu N", to which the process is bound. Says "pid PID".
inline std::vector<std::string> Begin(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() >= 2 && arguments[0] == "--cpu") {
    PinTo(std::atoi(arguments[1].c_str()));
    arguments.erase(arguments.begin(), arguments.begin() + 2);
  }
  Say("pid %d", ::getpid());
  return arguments;
}

inline uint64_t Number(const std::vector<std::string>& arguments, size_t index,
                       uint64_t otherwise) {
  return index < arguments.size() ? std::strtoull(arguments[index].c_str(), nullptr, 10)
                                  : otherwise;
}

// Times around waits, as the waiting thread sees them.
struct Waits {
  uint64_t count = 0;
  Nanos total = 0;

  template <class Function>
  void Around(Function&& wait) {
    const Nanos begin = Now();
    wait();
    total += Now() - begin;
    ++count;
  }
  void Report(const char* name) const {
    Say("waits %s %llu %llu", name, static_cast<unsigned long long>(count),
        static_cast<unsigned long long>(total));
  }
};

// Whether the thread has left the CPU inside system call `number` (-1: in a page fault) with the
// first argument `first` (0: any). The kernel answers "running" until the switch-out is complete.
inline bool IsAsleepIn(pid_t tid, long number, uintptr_t first = 0) {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) return false;
  long found = -2;
  unsigned long argument = 0;
  const int fields = std::fscanf(file, "%ld %lx", &found, &argument);
  std::fclose(file);
  return fields >= 1 && found == number && (first == 0 || argument == first);
}
inline void AwaitAsleepIn(pid_t tid, long number, uintptr_t first = 0) {
  while (!IsAsleepIn(tid, number, first)) ::usleep(100);
}

using FutexWord = std::atomic<uint32_t>;

[[gnu::always_inline]] inline long FutexWait(FutexWord* word, uint32_t value) {
  return Call(SYS_futex, Address(word), FUTEX_WAIT_PRIVATE, value, 0);
}
inline void FutexWake(FutexWord* word, int threads) {
  Call(SYS_futex, Address(word), FUTEX_WAKE_PRIVATE, threads);
}

// A gate that is opened once.
class Gate {
 public:
  [[gnu::noinline]] void WaitAtGate() {
    while (open_.load() == 0) FutexWait(&open_, 0);
  }
  void Open() {
    open_.store(1);
    FutexWake(&open_, INT32_MAX);
  }

 private:
  FutexWord open_{0};
};

// Threads that wait at a gate before their work and at another one after it.
class Crew {
 public:
  // Says "thread NAME TID". Returns the tid.
  pid_t Add(const char* name, std::function<void()> work) {
    Member& member = members_.emplace_back();
    working_.fetch_add(1);
    member.thread = std::thread([this, name, &member, work = std::move(work)] {
      NameThread(name);
      member.tid.store(Tid());
      member.tid.notify_one();
      begin_.WaitAtGate();
      work();
      if (working_.fetch_sub(1) == 1) FutexWake(&working_, 1);
      end_.WaitAtGate();
    });
    member.tid.wait(0);
    Say("thread %s %d", name, member.tid.load());
    return member.tid.load();
  }
  void Work() {
    begin_.Open();
    for (uint32_t left = working_.load(); left != 0; left = working_.load()) {
      FutexWait(&working_, left);
    }
  }
  void Leave() {
    end_.Open();
    for (Member& member : members_) member.thread.join();
  }

 private:
  struct Member {
    std::atomic<pid_t> tid{0};
    std::thread thread;
  };

  Gate begin_;
  Gate end_;
  FutexWord working_{0};
  std::list<Member> members_;
};

}  // namespace workload
