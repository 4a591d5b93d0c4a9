// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "profile/profile.h"
#include "tests/support/live_child.h"
#include "tests/support/live_counters.h"

namespace offcpu::live {

using Arguments = std::vector<std::string>;

// What starts a program as user 65534, without capabilities.
Arguments AsNobody();

// The program under test.
std::string OffcpuPath();
// Where the compiled program of tests/programs is.
std::string ProgramPath(const std::string& name);

// One of tests/programs, under way. See tests/programs/workload.h for what it says when.
class Program {
 public:
  // `path`: of a copy, instead of the program itself.
  Program(const std::string& name, const Arguments& arguments, const std::string& path = {});

  // Reads on to the line that begins with `word`. False when the program can't work here (skipped()
  // says why) or ended before, which is a failure of the test.
  bool Await(const std::string& word);
  void Go() { child_.Write("\n"); }

  // Lets it leave and reaps it.
  ChildEnd Finish();

  pid_t pid() const;
  pid_t tid(const std::string& thread) const;  // by the name in "thread NAME TID"

  // The main thread and those of "thread NAME TID", with the system calls they sleep in between
  // jobs.
  std::vector<SleepingPlace> Places() const;

  // The words after `word` of each line that began with it so far.
  const std::vector<Arguments>& Said(const std::string& word) const;
  uint64_t SaidNumber(const std::string& word, size_t field = 0) const;

  // What it measured around its waits of this name: (count, nanoseconds).
  std::pair<uint64_t, Nanos> Waits(const std::string& name) const;

  const std::string& skipped() const { return skipped_; }
  Child& child() { return child_; }

 private:
  Child child_;
  std::map<std::string, std::vector<Arguments>> said_;
  std::string skipped_;
};

// `offcpu record`, under way.
class Recorder {
 public:
  struct Options {
    Arguments arguments;  // after `record -v -o FILE`
    std::string file;     // where the profile goes
    pid_t in_namespaces_of = 0;
    bool private_output = false;  // it may name foreign processes: never show it
    Arguments runner = {};        // what starts it, such as setpriv and its arguments
    std::string program = {};     // instead of the program under test: a copy of it
  };
  explicit Recorder(const Options& options);

  // Waits until the events are on; false (and a failure) when it ends before.
  bool AwaitStart();

  // Its exit status after Ctrl-C.
  int Stop();
  // Its exit status when it ends by itself.
  int Wait();

  // The profile it wrote; an empty one and a failure when there is none.
  profile::Profile Load() const;

  Child& child() { return child_; }
  std::string Output() const;
  // Of that, the lines "offcpu: ...".
  std::string Remarks() const;

 private:
  Options options_;
  Child child_;
};

// All three reasons: then each of a thread's intervals has an entry.
Arguments AllReasons();

// What a recording around a program's work has and what the kernel counted meanwhile.
struct Session {
  profile::Profile profile;
  int status = -1;
  std::map<pid_t, Counters> growth;  // by tid; from zero for threads born after the go
  Nanos left_out = 0;                // LeftOutTime() meanwhile, rounded up
  std::string remarks;               // the recorder's, for failure messages
};

// The recording is complete, and laws 1 and 2 hold for each thread that was watched.
void ExpectLaws(const Session& session, bool signals = false);

class LiveTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // A folder of the test's own; removed at its end.
  const std::string& folder() const { return folder_; }
  // A file name in it, a new one each time.
  std::string NewFile();

  // The first and the last CPU this process may use.
  static std::vector<int> Cpus();

  Recorder StartRecorder(const Arguments& arguments);

  // Counters of all the program's threads, each asleep.
  static std::map<pid_t, Counters> ReadAll(const Program& program);

  // Waits until all threads of the program sleep, records with `options` besides its pid from
  // before its go until all sleep again after "done". The program must be fresh.
  Session Record(Program& program, const Arguments& options = AllReasons());

 private:
  std::string folder_;
  int files_ = 0;
};

// The same test on the first and on the last CPU, to which the program is bound: there are kernels
// that hide one CPU's idle task from perf.
class LiveCpuTest : public LiveTest, public ::testing::WithParamInterface<int> {
 protected:
  void SetUp() override;
  Program OnCpu(const std::string& name, Arguments arguments) const;
};

// Skips the test when the program couldn't start its work here.
#define OFFCPU_AWAIT_READY(program)                                        \
  do {                                                                     \
    const bool ready = (program).Await("ready");                           \
    if (!(program).skipped().empty()) GTEST_SKIP() << (program).skipped(); \
    ASSERT_TRUE(ready);                                                    \
  } while (false)

}  // namespace offcpu::live
