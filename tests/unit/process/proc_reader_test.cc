// SPDX-License-Identifier: MIT
#include "process/proc_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace offcpu::process {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string StatLine(const std::string& comm, const std::string& state, const std::string& flags) {
  std::string line = "4711 (" + comm + ") " + state + " 17 4711 4711 0 -1 " + flags;
  for (int field = 10; field <= 38; ++field) line += " 0";
  return line + " 3 0 0\n";
}

TEST(ProcReaderTest, AStatLineHasNameStateParentFlagsAndCpu) {
  const auto stat = ParseThreadStat(StatLine("server", "D", "4194304"));
  ASSERT_TRUE(stat);
  EXPECT_EQ(model::CommView(stat->comm), "server");
  EXPECT_EQ(stat->task_state, model::kTaskUninterruptible);
  EXPECT_EQ(stat->parent, 17);
  EXPECT_EQ(stat->cpu, 3);
  EXPECT_FALSE(stat->kernel_thread);
}

// I1: names hold any bytes.
TEST(ProcReaderTest, ANameWithParenthesesAndBlanksIsFoundFromTheRight) {
  for (const char* name : {"a) S 1 (b", "  ", "k/2", "[2]", "rs:main Q:Reg", ")", "("}) {
    const auto stat = ParseThreadStat(StatLine(name, "S", "0"));
    ASSERT_TRUE(stat) << name;
    EXPECT_EQ(model::CommView(stat->comm), name);
    EXPECT_EQ(stat->task_state, model::kTaskInterruptible);
  }
}

TEST(ProcReaderTest, AKernelThreadHasItsFlag) {
  EXPECT_TRUE(ParseThreadStat(StatLine("kworker/0:1", "I", "69238880"))->kernel_thread);
}

TEST(ProcReaderTest, AStatLineCutAnywhereIsRefused) {
  const std::string line = StatLine("server", "S", "0");
  for (size_t size = 0; size + 7 < line.size(); ++size) {
    EXPECT_FALSE(ParseThreadStat(line.substr(0, size))) << size;
  }
}

TEST(ProcReaderTest, MappingsAreTheExecutableOnesWithBlanksInTheirPaths) {
  const char* text =
      "00400000-00401000 r--p 00000000 08:01 131 /bin/a\n"
      "00401000-00402000 r-xp 00001000 08:01 131 /bin/a b\n"
      "7f0000000000-7f0000001000 r-xp 00000000 00:00 0 \n"
      "7ffff7fc1000-7ffff7fc3000 r-xp 00000000 00:00 0                          [vdso]\n"
      "garbage\n"
      "5-4 r-xp 0 0:0 0 /backwards\n";
  const auto maps = ParseMappings(text, 9);
  ASSERT_EQ(maps.size(), 3U);
  EXPECT_EQ(maps[0].start, 0x401000U);
  EXPECT_EQ(maps[0].length, 0x1000U);
  EXPECT_EQ(maps[0].file_offset, 0x1000U);
  EXPECT_EQ(maps[0].inode, 131U);
  EXPECT_EQ(maps[0].path, "/bin/a b");
  EXPECT_EQ(maps[1].path, "");
  EXPECT_EQ(maps[2].path, "[vdso]");
}

TEST(ProcReaderTest, ExecStartIsNanoseconds) {
  EXPECT_EQ(ParseExecStart("cat (1, #threads: 1)\nse.exec_start   :   470117.657370\n"),
            470'117'657'370U);
  EXPECT_FALSE(ParseExecStart("se.exec_start : 12.5\n"));
  EXPECT_FALSE(ParseExecStart("se.exec_start"));
  EXPECT_FALSE(ParseExecStart(""));
}

TEST(ProcReaderTest, AKernelStackIsItsFunctionsLeafFirst) {
  EXPECT_THAT(ParseKernelStack("[<0>] hrtimer_nanosleep+0x74/0x110\n"
                               "[<ffffffff8142a8d0>] common_nsleep+0x30/0x50\n"
                               "[<ffffffffffffffff>] 0xffffffffffffffff\n"),
              ElementsAre("hrtimer_nanosleep", "common_nsleep"));
  EXPECT_THAT(ParseKernelStack("nothing\n"), IsEmpty());
}

// E5.
TEST(ProcReaderTest, AProgramStartedThroughItsLoaderHasTheProgramsName) {
  const auto name = [](std::string_view cmdline) {
    const auto comm = ProgramOfLoader(cmdline);
    return comm ? std::string(model::CommView(*comm)) : std::string("?");
  };
  using std::string_view_literals::operator""sv;
  EXPECT_EQ(name("/lib64/ld-linux-x86-64.so.2\0/usr/bin/sleep\0005\0"sv), "sleep");
  EXPECT_EQ(name("ld.so\0--library-path\0/a:/b\0--list\0./prog\0--x\0"sv), "prog");
  EXPECT_EQ(name("ld.so\0--library-path\0"sv), "?");
  EXPECT_EQ(name(""), "?");
  EXPECT_FALSE(NameBehindLoader(1, model::MakeComm("sleep")));
}

TEST(ProcReaderTest, TheTestItselfCanBeRead) {
  const model::Pid self = ::getpid();
  EXPECT_TRUE(ReadThreadStat(self, self));
  EXPECT_EQ(ProcessOfThread(self), self);
  EXPECT_THAT(ListThreads(self), testing::Contains(self));
  EXPECT_THAT(ReadMappings(self).maps, testing::Not(IsEmpty()));
  EXPECT_FALSE(ProcessOfThread(1 << 22));
  EXPECT_THAT(ListThreads(1 << 22), IsEmpty());
}

TEST(SwitchCount, VoluntaryAndNotAreAddedUp) {
  EXPECT_EQ(ParseSwitchCount("Name:\tx\nvoluntary_ctxt_switches:\t40\n"
                             "nonvoluntary_ctxt_switches:\t2\n"),
            42U);
}

TEST(SwitchCount, AStatusWithoutOneOfThemTellsNothing) {
  EXPECT_FALSE(ParseSwitchCount("voluntary_ctxt_switches:\t40\n"));
  EXPECT_FALSE(ParseSwitchCount("voluntary_ctxt_switches:\tx\nnonvoluntary_ctxt_switches:\t2\n"));
  EXPECT_FALSE(ParseSwitchCount(""));
}

}  // namespace
}  // namespace offcpu::process
