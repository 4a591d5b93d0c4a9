// SPDX-License-Identifier: MIT
#include "symbolize/symbolizer.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/parse.h"
#include "tests/support/elf_builder.h"
#include "tests/support/scratch_tree.h"

extern "C" __attribute__((noinline)) void offcpu_test_known_function() { asm volatile(""); }

namespace offcpu::symbolize {
namespace {

using model::FrameKind;
using model::RawFrame;
using model::RawStack;
using model::SymbolFrame;
using testing::ElfBuilder;
using testing::ScratchTree;

constexpr model::Pid kPid = 2'000'000'009;  // above the kernel's limit: nobody's
const std::string kProcess = std::to_string(kPid);

model::Module FileModule(const std::string& path, std::string seen_path = {}) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  model::Module module;
  module.pid = kPid;
  module.path = seen_path.empty() ? path : std::move(seen_path);
  module.device_major = major(status.st_dev);
  module.device_minor = minor(status.st_dev);
  module.inode = status.st_ino;
  return module;
}

RawStack UserStack(std::vector<RawFrame> leaf_first) {
  RawStack stack;
  stack.pid = kPid;
  stack.frames = std::move(leaf_first);
  return stack;
}
RawStack KernelStack(const std::vector<uint64_t>& leaf_first) {
  RawStack stack;
  stack.kernel = true;
  for (const uint64_t address : leaf_first) stack.frames.push_back({address, 0, 0});
  return stack;
}

std::vector<std::string> Names(const std::vector<SymbolFrame>& frames) {
  std::vector<std::string> names;
  for (const SymbolFrame& frame : frames) names.push_back(frame.name);
  return names;
}
using Strings = std::vector<std::string>;

// The mapping of this process that `address` lies in, and its frame.
struct OwnFrame {
  model::Module module;
  RawFrame frame;
};
OwnFrame FindOwn(uint64_t address) {
  const auto maps = ReadSmallFile("/proc/self/maps");
  EXPECT_TRUE(maps.has_value());
  for (const std::string_view line : Split(*maps, '\n')) {
    std::istringstream words{std::string(line)};
    model::Module module;
    uint64_t offset = 0;
    std::string permissions;
    char skipped = 0;
    words >> std::hex >> module.map_start >> skipped >> module.map_end >> permissions >> offset >>
        module.device_major >> skipped >> module.device_minor >> std::dec >> module.inode;
    std::getline(words >> std::ws, module.path);
    if (address < module.map_start || address >= module.map_end) continue;
    module.pid = ::getpid();
    return {module, {address, address - module.map_start + offset, 1}};
  }
  ADD_FAILURE() << "address is not mapped";
  return {};
}

SymbolFrame ResolveOwn(uint64_t address, Options options = {}) {
  const OwnFrame own = FindOwn(address);
  Symbolizer symbolizer(std::move(options));
  symbolizer.AddModule(1, own.module);
  RawStack stack = UserStack({own.frame});
  stack.pid = ::getpid();
  symbolizer.Prepare(stack);
  const auto frames = symbolizer.Resolve(stack);
  EXPECT_FALSE(frames.empty());
  return frames.empty() ? SymbolFrame{} : frames.front();
}

TEST(SymbolizerTest, AFunctionOfThisProgramHasItsName) {
  const auto frame = ResolveOwn(reinterpret_cast<uint64_t>(&offcpu_test_known_function));
  EXPECT_EQ(frame.kind, FrameKind::kUser);
  EXPECT_EQ(frame.name, "offcpu_test_known_function");
  EXPECT_EQ(frame.module, std::filesystem::read_symlink("/proc/self/exe").filename());
}

TEST(SymbolizerTest, AFunctionOfALibraryHasItsName) {
  // One that no sanitizer puts its own in place of.
  void* address = ::dlsym(::dlopen("libc.so.6", RTLD_NOW), "getopt_long_only");
  ASSERT_NE(address, nullptr);
  const auto frame = ResolveOwn(reinterpret_cast<uint64_t>(address));
  EXPECT_NE(frame.name.find("getopt_long_only"), std::string::npos) << frame.name;
  EXPECT_TRUE(frame.module.starts_with("libc")) << frame.module;
}

TEST(SymbolizerTest, TheVdsoIsNamedFromThisProcess) {
  const auto maps = ReadSmallFile("/proc/self/maps");
  ASSERT_TRUE(maps.has_value());
  for (const std::string_view line : Split(*maps, '\n')) {
    if (!line.ends_with("[vdso]")) continue;
    uint64_t start = 0;
    ASSERT_TRUE(ParseNumber(line.substr(0, line.find('-')), &start, 16));
    // No need to know where a function begins: some byte of it belongs to one.
    for (uint64_t offset = 0; offset < 8192; offset += 16) {
      OwnFrame own = FindOwn(start);
      own.frame.offset = offset;
      Symbolizer symbolizer(Options{});
      symbolizer.AddModule(1, own.module);
      const auto frames = symbolizer.Resolve(UserStack({own.frame}));
      ASSERT_EQ(frames.size(), 1U);
      EXPECT_EQ(frames[0].module, "[vdso]");
      if (frames[0].name.find("clock_gettime") != std::string::npos) return;
    }
    FAIL() << "no clock_gettime in the vdso";
  }
  GTEST_SKIP() << "this machine has no vdso";
}

class FakeProcessTest : public ::testing::Test {
 protected:
  FakeProcessTest() {
    options_.proc = tree_ / "proc";
    options_.debug_directory = tree_ / "debug";
    std::filesystem::create_directories(tree_ / ("proc/" + kProcess + "/root/tmp"));
  }
  void WritePerfMap(std::string_view text) {
    tree_.Write("proc/" + kProcess + "/root/tmp/perf-" + kProcess + ".map", text);
  }

  ScratchTree tree_;
  Options options_;
};

TEST_F(FakeProcessTest, FramesComeRootFirstWithInlinedOnesLeafwards) {
  const std::string path = tree_.Write(
      "app",
      ElfBuilder().Function("main", 0x300, 0x40).Function("outer", 0x200, 0x100).Inlines().Build());
  Symbolizer symbolizer(options_);
  symbolizer.AddModule(1, FileModule(path));
  // The second address is behind the last byte of main: a return address.
  const auto frames = symbolizer.Resolve(UserStack({{0x5235, 0x235, 1}, {0x5340, 0x340, 1}}));
  EXPECT_EQ(Names(frames), (Strings{"main", "outer", "middle(int)", "inner()"}));
  EXPECT_FALSE(frames[1].inlined);
  EXPECT_TRUE(frames[2].inlined);
  EXPECT_TRUE(frames[3].inlined);
  EXPECT_EQ(frames[3].module, "app");

  options_.inlines = false;
  Symbolizer without(options_);
  without.AddModule(1, FileModule(path));
  EXPECT_EQ(Names(without.Resolve(UserStack({{0x5235, 0x235, 1}}))), (Strings{"outer"}));
}

TEST_F(FakeProcessTest, ALeafIsLookedUpWhereItIsAndACallBeforeItsReturn) {
  const std::string path = tree_.Write("app", ElfBuilder()
                                                  .Function("a", 0x200, 0x10)
                                                  .Function("b", 0x210, 0x10)
                                                  .Function("restore", 0x260, 0x10)
                                                  .Build());
  Symbolizer symbolizer(options_);
  symbolizer.AddModule(1, FileModule(path));
  EXPECT_EQ(Names(symbolizer.Resolve(UserStack({{0, 0x210, 1}, {0, 0x210, 1}}))),
            (Strings{"a", "b"}));
  // Nothing ends before `restore`: a handler returns there without a call.
  EXPECT_EQ(Names(symbolizer.Resolve(UserStack({{0, 0x200, 1}, {0, 0x260, 1}}))),
            (Strings{"restore", "a"}));
}

TEST_F(FakeProcessTest, WhatHasNoSymbolShowsItsPositionInTheFile) {
  const std::string path = tree_.Write("app", ElfBuilder().Function("a", 0x200, 0x10).Build());
  Symbolizer symbolizer(options_);
  symbolizer.AddModule(1, FileModule(path));
  const auto frames = symbolizer.Resolve(UserStack({{0x7000, 0x2a0, 1}}));
  EXPECT_EQ(frames, (std::vector<SymbolFrame>{{FrameKind::kUser, false, "0x2a0", "app"}}));
  EXPECT_TRUE(symbolizer.Warnings().empty());
}

TEST_F(FakeProcessTest, AReplacedFileIsNeverSymbolisedWithTheNewOne) {
  const std::string path = tree_.Write("app", ElfBuilder().Function("old", 0x200, 0x10).Build());
  const model::Module module = FileModule(path, path + " (deleted)");
  std::filesystem::rename(path, tree_ / "kept");  // so that its inode isn't used again
  tree_.Write("app", ElfBuilder().Function("new", 0x200, 0x10).Build());
  Symbolizer symbolizer(options_);
  symbolizer.AddModule(1, module);
  const auto stack = UserStack({{0x7000, 0x200, 1}});
  symbolizer.Prepare(stack);
  EXPECT_EQ(symbolizer.Resolve(stack),
            (std::vector<SymbolFrame>{{FrameKind::kUser, false, "0x200", "app"}}));
  ASSERT_EQ(symbolizer.Warnings().size(), 1U);
  EXPECT_NE(symbolizer.Warnings()[0].find("replaced"), std::string::npos);
}

TEST_F(FakeProcessTest, AFileReplacedAfterItWasSeenKeepsItsOldNames) {
  const std::string path = tree_.Write("app", ElfBuilder().Function("old", 0x200, 0x10).Build());
  Symbolizer symbolizer(options_);
  symbolizer.AddModule(1, FileModule(path));
  std::filesystem::remove(path);
  tree_.Write("app", ElfBuilder().Function("new", 0x200, 0x10).Build());
  symbolizer.AddModule(2, FileModule(path));
  EXPECT_EQ(Names(symbolizer.Resolve(UserStack({{0, 0x200, 2}, {0, 0x201, 1}}))),
            (Strings{"old", "new"}));
}

TEST_F(FakeProcessTest, AProcessThatIsGoneUsesTheFileThatAnotherHad) {
  const std::string path = tree_.Write("proc/" + kProcess + "/root/bin/tool",
                                       ElfBuilder().Function("f", 0x200, 9).Build());
  const model::Module module = FileModule(path, "/bin/tool");
  Symbolizer symbolizer(options_);
  symbolizer.AddModule(1, module);
  std::filesystem::remove_all(tree_ / "proc");
  symbolizer.AddModule(2, module);
  EXPECT_EQ(Names(symbolizer.Resolve(UserStack({{0, 0x200, 2}}))), (Strings{"f"}));
}

TEST_F(FakeProcessTest, ManyFilesDoNotUseUpTheDescriptors) {
  const auto count_descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto before = count_descriptors();
  Symbolizer symbolizer(options_);
  for (model::ModuleId id = 1; id <= 400; ++id) {
    const std::string name = "f" + std::to_string(id);
    const std::string path = tree_.Write(name, ElfBuilder().Function(name, 0x200, 0x10).Build());
    symbolizer.AddModule(id, FileModule(path));
  }
  EXPECT_LT(count_descriptors() - before, 250);
  EXPECT_EQ(Names(symbolizer.Resolve(UserStack({{0, 0x200, 400}, {0, 0x201, 1}}))),
            (Strings{"f1", "f400"}));
}

TEST_F(FakeProcessTest, CompiledCodeIsNamedByThePerfMapWhenAskedAgain) {
  WritePerfMap("");
  Symbolizer symbolizer(options_);
  model::Module anonymous;
  anonymous.pid = kPid;
  anonymous.path = "//anon";
  symbolizer.AddModule(1, anonymous);
  const auto stack = UserStack({{0x1004, 4, 1}, {0x1010, 0x10, 1}, {0x9000, 0x9000, 1}});
  symbolizer.Prepare(stack);
  WritePerfMap("1000 10 Lcom/x/Y;::run\n");
  const SymbolFrame named{FrameKind::kJit, false, "Lcom/x/Y;::run", "[jit]"};
  EXPECT_EQ(
      symbolizer.Resolve(stack),
      (std::vector<SymbolFrame>{{FrameKind::kUser, false, "0x9000", "[anon]"}, named, named}));
  WritePerfMap("1000 10 Lcom/x/Y;::run\n8f00 200 later\n");
  EXPECT_EQ(symbolizer.Resolve(stack)[0].name, "later");
}

TEST_F(FakeProcessTest, MemoryOfEveryKindMayHoldCompiledCode) {
  WritePerfMap("1000 1000 compiled\n");
  Symbolizer symbolizer(options_);
  model::ModuleId id = 0;
  for (const std::string path : {"//anon", "[anon:v8]", "/memfd:doublemapper (deleted)", "[heap]",
                                 "[stack]", "", "/dev/zero (deleted)"}) {
    model::Module module;
    module.pid = kPid;
    module.path = path;
    symbolizer.AddModule(++id, module);
    EXPECT_EQ(symbolizer.Resolve(UserStack({{0x1004, 4, id}}))[0].kind, FrameKind::kJit) << path;
  }
  EXPECT_EQ(symbolizer.Resolve(UserStack({{0x1004, 4, 0}}))[0].name, "compiled");
  EXPECT_TRUE(symbolizer.Warnings().empty());
}

TEST_F(FakeProcessTest, CodeInAFileThatIsNotElfIsLookedUpInThePerfMap) {
  WritePerfMap("1000 100 managed\n");
  Symbolizer symbolizer(options_);
  symbolizer.AddModule(1, FileModule(tree_.Write("lib.dll", "MZ not an ELF file")));
  const auto frames = symbolizer.Resolve(UserStack({{0x1004, 4, 1}, {0x5000, 0x50, 1}}));
  EXPECT_EQ(frames, (std::vector<SymbolFrame>{{FrameKind::kUser, false, "0x50", "lib.dll"},
                                              {FrameKind::kJit, false, "managed", "[jit]"}}));
}

TEST_F(FakeProcessTest, AddressesOfNoMappingAllHaveOneName) {
  Symbolizer symbolizer(options_);
  const auto frames = symbolizer.Resolve(UserStack({{1, 0, 0}, {0xdead, 0, 0}, {2, 2, 77}}));
  const SymbolFrame unknown{FrameKind::kUser, false, "[unknown]", ""};
  EXPECT_EQ(frames, (std::vector<SymbolFrame>{unknown, unknown, unknown}));
}

TEST_F(FakeProcessTest, APerfMapThatCannotBeTrustedIsNamedOnce) {
  std::filesystem::create_symlink(
      "/etc/passwd", tree_ / ("proc/" + kProcess + "/root/tmp/perf-" + kProcess + ".map"));
  Symbolizer symbolizer(options_);
  for (int i = 0; i < 3; ++i) (void)symbolizer.Resolve(UserStack({{0x1004, 4, 0}}));
  ASSERT_EQ(symbolizer.Warnings().size(), 1U);
  EXPECT_NE(symbolizer.Warnings()[0].find("perf-" + kProcess + ".map"), std::string::npos);
}

TEST_F(FakeProcessTest, TruncatedStacksHangUnderAMarker) {
  Symbolizer symbolizer(options_);
  RawStack stack = UserStack({{1, 0, 0}});
  stack.truncated = true;
  const auto frames = symbolizer.Resolve(stack);
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(frames[0], (SymbolFrame{FrameKind::kMarker, false, "[truncated stack]", ""}));
}

TEST_F(FakeProcessTest, KernelStacksEndAtSchedule) {
  tree_.Write("proc/kallsyms",
              "ffffffff81000100 t bpf_trace_run4\n"
              "ffffffff81000200 t __schedule.isra.0\n"
              "ffffffff81000300 T schedule\n"
              "ffffffff81000400 T do_nanosleep\n"
              "ffffffffc0000000 t bpf_prog_1_f\t[bpf]\n");
  Symbolizer symbolizer(options_);
  const auto frames =
      symbolizer.Resolve(KernelStack({0xffffffffc0000010, 0xffffffff81000110, 0xffffffff81000210,
                                      0xffffffff81000310, 0xffffffff81000500, 0xffffffff00000000}));
  EXPECT_EQ(Names(frames),
            (Strings{"0xffffffff00000000", "do_nanosleep", "schedule", "__schedule"}));
  for (const SymbolFrame& frame : frames) {
    EXPECT_EQ(frame.kind, FrameKind::kKernel);
    EXPECT_EQ(frame.module, "[kernel]");
  }
}

// What a sleeper's own stack looks like in /proc, and to BPF.
TEST_F(FakeProcessTest, KernelStacksEndAtWhoCalledTheScheduler) {
  tree_.Write("proc/kallsyms",
              "ffffffff81000100 t bpf_trace_run4\n"
              "ffffffff81000200 T hrtimer_nanosleep\n"
              "ffffffff81000300 T __sched_text_start\n"
              "ffffffff81000300 t __schedule\n"
              "ffffffff81000400 T schedule\n"
              "ffffffff81000500 t do_nanosleep\n"
              "ffffffff81000600 T __sched_text_end\n");
  Symbolizer symbolizer(options_);
  EXPECT_EQ(Names(symbolizer.Resolve(
                KernelStack({0xffffffff81000110, 0xffffffff81000310, 0xffffffff81000410,
                             0xffffffff81000510, 0xffffffff81000210}))),
            Strings{"hrtimer_nanosleep"});
  EXPECT_EQ(Names(symbolizer.Resolve(KernelStack({0xffffffff81000310, 0xffffffff81000410}))),
            Strings{"schedule"})
      << "a stack never becomes empty";
}

TEST_F(FakeProcessTest, HiddenKernelAddressesAreSaidOnceAndKept) {
  tree_.Write("proc/kallsyms", "0000000000000000 T schedule\n0000000000000000 t __schedule\n");
  Symbolizer symbolizer(options_);
  EXPECT_TRUE(symbolizer.Warnings().empty());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Names(symbolizer.Resolve(KernelStack({0xffffffff81000210}))),
              (Strings{"0xffffffff81000210"}));
  }
  ASSERT_EQ(symbolizer.Warnings().size(), 1U);
  EXPECT_NE(symbolizer.Warnings()[0].find("kernel.kptr_restrict"), std::string::npos);
  EXPECT_NE(symbolizer.Warnings()[0].find("CAP_SYSLOG"), std::string::npos);
}

TEST_F(FakeProcessTest, AMissingKallsymsIsSaid) {
  Symbolizer symbolizer(options_);
  EXPECT_EQ(Names(symbolizer.Resolve(KernelStack({0x10, 0x20}))), (Strings{"0x20", "0x10"}));
  ASSERT_EQ(symbolizer.Warnings().size(), 1U);
  EXPECT_NE(symbolizer.Warnings()[0].find("kallsyms"), std::string::npos);
}

TEST_F(FakeProcessTest, TheVsyscallPageIsNamedByItsCalls) {
  Symbolizer symbolizer(options_);
  model::Module module;
  module.path = "[vsyscall]";
  symbolizer.AddModule(1, module);
  const auto frames = symbolizer.Resolve(UserStack({{0xffffffffff600407, 0x407, 1}}));
  EXPECT_EQ(frames, (std::vector<SymbolFrame>{{FrameKind::kUser, false, "time", "[vsyscall]"}}));
}

TEST_F(FakeProcessTest, TheFirstModuleOfAnIdStays) {
  const std::string a = tree_.Write("a", ElfBuilder().Function("a", 0x200, 9).Build());
  const std::string b = tree_.Write("b", ElfBuilder().Function("b", 0x200, 9).Build());
  Symbolizer symbolizer(options_);
  symbolizer.AddModule(900, FileModule(a));
  symbolizer.AddModule(3, FileModule(b));
  symbolizer.AddModule(900, FileModule(b));
  EXPECT_EQ(Names(symbolizer.Resolve(UserStack({{0, 0x200, 900}}))), (Strings{"a"}));
}

}  // namespace
}  // namespace offcpu::symbolize
