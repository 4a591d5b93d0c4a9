// SPDX-License-Identifier: MIT
// The rungs of privilege, as offcpu-permissions(7) lists them: the program runs as an ordinary user
// with a few capabilities, and `--backend auto` must find the best source that is left.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "base/files.h"
#include "profile/profile_file.h"
#include "tests/support/live.h"
#include "tests/support/sysctl.h"

namespace offcpu::live {
namespace {

namespace fs = std::filesystem;

struct Rung {
  const char* name;
  const char* capabilities;  // setpriv's list; nullptr: root
  const char* paranoid;
  bool perf_forbidden;
  const char* target;   // "command", or "all"
  const char* backend;  // that is found; nullptr: none works
  const char* advice;   // a word of what a better one would need; nullptr: nothing better
};

void PrintTo(const Rung& rung, std::ostream* out) { *out << rung.name; }

constexpr Rung kRungs[] = {
    {"NoCapability", "-all", "2", false, "command", "switch", "CAP_PERFMON"},
    {"NoCapabilityAtOne", "-all", "1", false, "command", "switch", "CAP_PERFMON"},
    {"NoCapabilityAtMinusOne", "-all", "-1", false, "all", "switch", "/sys/kernel/tracing"},
    {"Perfmon", "-all,+perfmon", "2", false, "all", "switch", "/sys/kernel/tracing"},
    {"PerfmonAndTracefs", "-all,+perfmon,+dac_read_search", "2", false, "all", "perf", nullptr},
    {"PerfmonAndBpf", "-all,+perfmon,+bpf", "2", false, "all", "bpf", "/sys/kernel/tracing"},
    {"NoPerf", "-all", "2", true, "command", "proc", "perf_event_open"},
    {"RootWithoutPerf", nullptr, "2", true, "command", "tracefs", "perf_event_open"},
};

// Debian patches in a third level, at which perf_event_open is for CAP_PERFMON only; elsewhere 3
// is 2.
bool HasThirdLevel() {
  return ReadSmallFile("/proc/version").value_or("").find("debian-kernel") != std::string::npos;
}

Rung ThirdRung() {
  if (HasThirdLevel()) {
    return {"AtThree", "-all", "3", false, "command", "proc", "CAP_PERFMON"};
  }
  return {"AtThree", "-all", "3", false, "command", "switch", "CAP_PERFMON"};
}

class LadderTest : public LiveTest, public ::testing::WithParamInterface<Rung> {
 protected:
  void SetUp() override {
    LiveTest::SetUp();
    // The ordinary user must reach the program, and the file it writes.
    ::chmod(folder().c_str(), 0777);
    program_ = folder() + "/offcpu";
    fs::copy_file(OffcpuPath(), program_);
    fs::permissions(program_, fs::perms(0755));
    const fs::path module = fs::path(OffcpuPath()).parent_path() / "bpf.so";
    has_module_ = fs::exists(module);
    if (has_module_) {
      fs::copy_file(module, folder() + "/bpf.so");
      fs::permissions(folder() + "/bpf.so", fs::perms(0755));
    }
    no_perf_ = folder() + "/no_perf";
    fs::copy_file(ProgramPath("no_perf"), no_perf_);
    fs::permissions(no_perf_, fs::perms(0755));
  }

  Arguments Command(const Rung& rung, const std::string& file) const {
    Arguments words;
    if (rung.capabilities != nullptr) {
      const std::string capabilities = rung.capabilities;
      words = {"setpriv",
               "--reuid=65534",
               "--regid=65534",
               "--clear-groups",
               "--inh-caps=" + capabilities,
               "--ambient-caps=" + capabilities};
    }
    if (rung.perf_forbidden) words.push_back(no_perf_);
    words.insert(words.end(), {program_, "record", "-v", "-o", file});
    if (std::string_view(rung.target) == "all") {
      words.insert(words.end(), {"-a", "-d", "300ms"});
    } else {
      // Where the idle task is seen: tracefs has no other means to see a sleeper come back.
      words.insert(words.end(),
                   {"--", "taskset", "-c", std::to_string(Cpus().front()), "sleep", "0.3"});
    }
    return words;
  }

  std::string program_;
  bool has_module_ = false;
  std::string no_perf_;
};

TEST_P(LadderTest, TheBestSourceThatIsLeftIsTakenAndTheNextRungIsNamed) {
  const Rung& rung = GetParam();
  const Sysctl paranoid("/proc/sys/kernel/perf_event_paranoid", rung.paranoid);
  if (!paranoid.Has(rung.paranoid)) GTEST_SKIP() << "kernel.perf_event_paranoid can't be set here";
  if (std::string_view(rung.backend) == "bpf" && !has_module_) {
    GTEST_SKIP() << "the BPF module was not built";
  }
  const std::string file = NewFile();
  Child child({.arguments = Command(rung, file), .take_errors = true, .input = false});
  const int status = child.Wait().status;
  // What other processes did is nobody's business: only the program's own remarks are shown.
  std::string remarks;
  for (const std::string_view line : Split(child.output(), '\n')) {
    if (line.starts_with("offcpu: ")) remarks.append(line).append("\n");
  }
  ASSERT_TRUE(status == 0 || status == 2) << status << '\n' << remarks;
  const auto profile = profile::ReadProfileFile(file);
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ(profile->origin.backend, rung.backend) << remarks;
  EXPECT_NE(remarks.find("offcpu: back end " + std::string(rung.backend)), std::string::npos)
      << remarks;
  if (rung.advice != nullptr) {
    EXPECT_NE(remarks.find("would need"), std::string::npos) << remarks;
    EXPECT_NE(remarks.find(rung.advice), std::string::npos) << remarks;
  } else {
    EXPECT_EQ(remarks.find("would need"), std::string::npos) << remarks;
  }
  if (std::string_view(rung.target) == "command") {
    EXPECT_FALSE(profile->entries.empty()) << "the sleep is missing\n" << remarks;
  }
}

std::string NameOf(const ::testing::TestParamInfo<Rung>& rung) { return rung.param.name; }

INSTANTIATE_TEST_SUITE_P(Rungs, LadderTest, ::testing::ValuesIn(kRungs), NameOf);
INSTANTIATE_TEST_SUITE_P(Patched, LadderTest, ::testing::Values(ThirdRung()), NameOf);

}  // namespace
}  // namespace offcpu::live
