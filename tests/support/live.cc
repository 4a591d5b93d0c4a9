// SPDX-License-Identifier: MIT
#include "tests/support/live.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "base/files.h"
#include "base/parse.h"
#include "profile/profile_file.h"
#include "tests/support/live_view.h"

namespace offcpu::live {
namespace {

std::string FromEnvironment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

Child::Options ProgramOptions(const std::string& name, const Arguments& arguments,
                              const std::string& path) {
  Child::Options options;
  options.arguments = {path.empty() ? ProgramPath(name) : path};
  options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
  return options;
}

Child::Options RecorderOptions(const Recorder::Options& recorder) {
  Child::Options options;
  // Absolute: it may start in another mount namespace.
  options.arguments = recorder.runner;
  options.arguments.insert(options.arguments.end(),
                           {recorder.program.empty() ? OffcpuPath() : recorder.program, "record",
                            "-v", "-o", recorder.file});
  options.arguments.insert(options.arguments.end(), recorder.arguments.begin(),
                           recorder.arguments.end());
  options.take_errors = true;
  options.input = false;
  options.in_namespaces_of = recorder.in_namespaces_of;
  return options;
}

uint64_t ToNumber(const Arguments& fields, size_t index) {
  uint64_t value = 0;
  if (index >= fields.size() || !ParseNumber(fields[index], &value)) {
    ADD_FAILURE() << "field " << index << " of what the program said is not a number";
  }
  return value;
}

}  // namespace

Arguments AsNobody() {
  return {"setpriv",        "--reuid=65534",   "--regid=65534",
          "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"};
}

std::string OffcpuPath() {
  return std::filesystem::absolute(FromEnvironment("OFFCPU", "build/offcpu"));
}

std::string ProgramPath(const std::string& name) {
  return std::filesystem::absolute(FromEnvironment("OFFCPU_PROGRAMS", "build/programs")) / name;
}

Program::Program(const std::string& name, const Arguments& arguments, const std::string& path)
    : child_(ProgramOptions(name, arguments, path)) {}

bool Program::Await(const std::string& word) {
  while (auto line = child_.ReadLine()) {
    Arguments fields;
    for (std::string_view field : Split(*line, ' ')) fields.emplace_back(field);
    if (fields.empty()) continue;
    const std::string first = fields.front();
    if (first == "skip") {
      skipped_ = line->substr(first.size() + 1);
      return false;
    }
    fields.erase(fields.begin());
    said_[first].push_back(std::move(fields));
    if (first == word) return true;
  }
  ADD_FAILURE() << "the program ended before it said '" << word << "'; it said:\n"
                << child_.output();
  return false;
}

ChildEnd Program::Finish() {
  child_.CloseInput();
  return child_.Wait();
}

pid_t Program::pid() const { return static_cast<pid_t>(SaidNumber("pid")); }

pid_t Program::tid(const std::string& thread) const {
  for (const Arguments& fields : Said("thread")) {
    if (!fields.empty() && fields[0] == thread) return static_cast<pid_t>(ToNumber(fields, 1));
  }
  ADD_FAILURE() << "the program has no thread " << thread;
  return 0;
}

std::vector<SleepingPlace> Program::Places() const {
  std::vector<SleepingPlace> places{{pid(), SYS_read}};
  for (const Arguments& fields : Said("thread")) {
    const pid_t tid = static_cast<pid_t>(ToNumber(fields, 1));
    if (tid != pid()) places.push_back({tid, SYS_futex});
  }
  return places;
}

const std::vector<Arguments>& Program::Said(const std::string& word) const {
  static const std::vector<Arguments> kNothing;
  const auto found = said_.find(word);
  return found == said_.end() ? kNothing : found->second;
}

uint64_t Program::SaidNumber(const std::string& word, size_t field) const {
  const std::vector<Arguments>& lines = Said(word);
  return ToNumber(lines.empty() ? Arguments{} : lines.back(), field);
}

std::pair<uint64_t, Nanos> Program::Waits(const std::string& name) const {
  for (const Arguments& fields : Said("waits")) {
    if (!fields.empty() && fields[0] == name) return {ToNumber(fields, 1), ToNumber(fields, 2)};
  }
  ADD_FAILURE() << "the program measured no waits called " << name;
  return {};
}

Recorder::Recorder(const Options& options) : options_(options), child_(RecorderOptions(options)) {}

bool Recorder::AwaitStart() {
  while (auto line = child_.ReadLine()) {
    if (*line == "offcpu: recording") return true;
  }
  ADD_FAILURE() << "the recorder ended before it recorded:\n" << Output();
  return false;
}

int Recorder::Stop() {
  child_.Signal(SIGINT);
  return Wait();
}

int Recorder::Wait() { return child_.Wait().status; }

profile::Profile Recorder::Load() const {
  auto profile = profile::ReadProfileFile(options_.file);
  if (profile) return *profile;
  ADD_FAILURE() << profile.error().message << "; the recorder said:\n" << Output();
  return {};
}

std::string Recorder::Output() const {
  return options_.private_output ? "(not shown: it may name other processes)" : child_.output();
}

std::string Recorder::Remarks() const {
  std::string remarks;
  const std::string output = Output();
  for (std::string_view line : Split(output, '\n')) {
    if (line.substr(0, 8) == "offcpu: ") remarks.append(line).push_back('\n');
  }
  return remarks;
}

Arguments AllReasons() { return {"--reasons", "blocked,runnable,preempted"}; }

void ExpectLaws(const Session& session, bool signals) {
  SCOPED_TRACE("the recorder said:\n" + session.remarks);
  EXPECT_EQ(session.status, 0);
  ExpectNoLoss(session.profile);
  ExpectConserved(session.profile);
  EXPECT_FALSE(session.growth.empty());
  for (const auto& [tid, growth] : session.growth) {
    ExpectKernelAgrees(session.profile, AccountOf(session.profile, tid), growth,
                       {.signals = signals, .left_out = session.left_out});
  }
}

void LiveTest::SetUp() {
  if (::geteuid() != 0) GTEST_SKIP() << "live tests need root";
  const char* const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
  bool readable = false;
  for (const char* place : places) {
    readable =
        readable ||
        ::access((std::string(place) + "/events/sched/sched_switch/format").c_str(), R_OK) == 0;
  }
  if (!readable) GTEST_SKIP() << "live tests need tracefs: mount -t tracefs nodev " << places[0];
  std::string name = (std::filesystem::temp_directory_path() / "offcpu-live-XXXXXX").string();
  ASSERT_NE(::mkdtemp(name.data()), nullptr);
  folder_ = name;
}

void LiveTest::TearDown() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

std::string LiveTest::NewFile() { return folder_ + "/" + std::to_string(++files_) + ".pb"; }

std::vector<int> LiveTest::Cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  ::sched_getaffinity(0, sizeof(set), &set);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  if (cpus.size() > 2) cpus = {cpus.front(), cpus.back()};
  return cpus;
}

Recorder LiveTest::StartRecorder(const Arguments& arguments) {
  return Recorder({.arguments = arguments, .file = NewFile()});
}

std::map<pid_t, Counters> LiveTest::ReadAll(const Program& program) {
  std::map<pid_t, Counters> counters;
  for (const SleepingPlace& place : program.Places()) {
    counters[place.tid] = ReadAsleep(program.pid(), place);
  }
  return counters;
}

Session LiveTest::Record(Program& program, const Arguments& options) {
  Session session;
  std::map<pid_t, Counters> before = ReadAll(program);
  const Nanos left_out_before = LeftOutTime();
  Arguments arguments = {"-p", std::to_string(program.pid())};
  arguments.insert(arguments.end(), options.begin(), options.end());
  Recorder recorder = StartRecorder(arguments);
  if (!recorder.AwaitStart()) return session;
  program.Go();
  if (program.Await("done")) {
    for (const auto& [tid, after] : ReadAll(program)) session.growth[tid] = after - before[tid];
  }
  session.status = recorder.Stop();
  session.remarks = recorder.Remarks();
  session.profile = recorder.Load();
  session.left_out = LeftOutSince(left_out_before);
  return session;
}

void LiveCpuTest::SetUp() {
  LiveTest::SetUp();
  const std::vector<int> cpus = Cpus();
  if (!IsSkipped() && GetParam() >= static_cast<int>(cpus.size())) {
    GTEST_SKIP() << "there is only one CPU";
  }
}

Program LiveCpuTest::OnCpu(const std::string& name, Arguments arguments) const {
  const int cpu = Cpus()[static_cast<size_t>(GetParam())];
  arguments.insert(arguments.begin(), {"--cpu", std::to_string(cpu)});
  return Program(name, arguments);
}

}  // namespace offcpu::live
