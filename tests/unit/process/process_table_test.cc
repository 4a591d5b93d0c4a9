// SPDX-License-Identifier: MIT
#include "process/process_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "process/stack_table.h"

namespace offcpu::process {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr model::Pid kPid = 100;

model::Map MapOf(uint64_t start, uint64_t length, std::string_view path, uint64_t inode,
                 model::Pid pid = kPid, uint64_t offset = 0) {
  model::Map map;
  map.pid = pid;
  map.start = start;
  map.length = length;
  map.file_offset = offset;
  map.inode = inode;
  map.path = path;
  return map;
}

model::CommChange Exec(const char* name) {
  model::CommChange change;
  change.pid = kPid;
  change.tid = kPid;
  change.exec = true;
  change.comm = model::MakeComm(name);
  return change;
}

class ProcessTableTest : public testing::Test {
 protected:
  ProcessTableTest() { table.AddProcess(kPid, model::MakeComm("server"), false); }
  ProcessTable table{/*max_rows=*/4};
};

TEST_F(ProcessTableTest, AnAddressBelongsToTheMappingOfThatMoment) {
  table.ApplyMap(MapOf(0x1000, 0x1000, "/bin/a", 1));
  table.ApplyMap(MapOf(0x3000, 0x1000, "/lib/b", 2, kPid, 0x8000));
  EXPECT_EQ(table.FindRange(kPid, 0xfff), nullptr);
  EXPECT_NE(table.FindRange(kPid, 0x1000), nullptr);
  EXPECT_EQ(table.FindRange(kPid, 0x2000), nullptr);
  const MappedRange* range = table.FindRange(kPid, 0x3fff);
  ASSERT_NE(range, nullptr);
  EXPECT_EQ(range->file_offset, 0x8000U);
}

TEST_F(ProcessTableTest, ANewMappingCutsWhatItReplacesAndStartsAGeneration) {
  table.ApplyMap(MapOf(0x1000, 0x5000, "/bin/a", 1));
  const uint32_t before = table.Generation(kPid);
  table.ApplyMap(MapOf(0x2000, 0x1000, "/lib/b", 2));
  EXPECT_NE(table.Generation(kPid), before);
  EXPECT_EQ(table.FindRange(kPid, 0x1800)->module, table.FindRange(kPid, 0x5000)->module);
  EXPECT_NE(table.FindRange(kPid, 0x1800)->module, table.FindRange(kPid, 0x2800)->module);
  EXPECT_EQ(table.FindRange(kPid, 0x3000)->file_offset, 0x2000U);
}

TEST_F(ProcessTableTest, TheSameMappingAgainChangesNothing) {
  table.ApplyMap(MapOf(0x1000, 0x5000, "/bin/a", 1));
  const uint32_t before = table.Generation(kPid);
  table.ApplyMap(MapOf(0x1000, 0x5000, "/bin/a", 1));
  EXPECT_EQ(table.Generation(kPid), before);
}

// E4.
TEST_F(ProcessTableTest, AnExecIsANewProgramInTheSameProcess) {
  const model::ThreadRow row = table.AddThread(kPid, kPid, model::MakeComm("cargo"));
  table.ApplyMap(MapOf(0x1000, 0x1000, "/bin/a", 1));
  const uint32_t before = table.Generation(kPid);
  table.ApplyCommChange(Exec("app"));
  EXPECT_EQ(model::CommView(table.ProcessName(row)), "app");
  EXPECT_EQ(table.FindRange(kPid, 0x1000), nullptr);
  EXPECT_NE(table.Generation(kPid), before);
}

// E6.
TEST_F(ProcessTableTest, ThreadAndProcessHaveNamesOfTheirOwn) {
  table.AddThread(kPid, kPid, model::MakeComm("server"));
  const model::ThreadRow worker = table.AddThread(kPid, 101, model::MakeComm("server"));
  model::CommChange change;
  change.pid = kPid;
  change.tid = 101;
  change.comm = model::MakeComm("worker");
  table.ApplyCommChange(change);
  EXPECT_EQ(model::CommView(table.row(worker).comm), "worker");
  EXPECT_EQ(model::CommView(table.ProcessName(worker)), "server");
}

TEST_F(ProcessTableTest, AChildProcessInheritsMappings) {
  table.ApplyMap(MapOf(0x1000, 0x1000, "/bin/a", 1));
  table.AddProcess(200, model::MakeComm("child"), false);
  table.ApplyFork({1, 200, 200, kPid, kPid});
  ASSERT_NE(table.FindRange(200, 0x1000), nullptr);
  EXPECT_EQ(table.FindRange(200, 0x1000)->module, table.FindRange(kPid, 0x1000)->module);
}

TEST_F(ProcessTableTest, AProcessIsLetGoWithItsLastThreadAndItsRowsStay) {
  const model::ThreadRow first = table.AddThread(kPid, kPid, model::MakeComm("a"));
  table.AddThread(kPid, 101, model::MakeComm("b"));
  table.ApplyExit({1, kPid, kPid});
  EXPECT_TRUE(table.HasProcess(kPid));
  table.ApplyExit({2, kPid, 101});
  EXPECT_FALSE(table.HasProcess(kPid));
  EXPECT_EQ(model::CommView(table.row(first).comm), "a");
  EXPECT_EQ(model::CommView(table.ProcessName(first)), "server");
}

// H6.
TEST_F(ProcessTableTest, TooManyThreadsShareOneRow) {
  for (model::Tid tid = 101; tid < 120; ++tid) {
    table.AddThread(kPid, tid, model::MakeComm("short"));
    table.ApplyExit({1, 0, tid});
  }
  EXPECT_EQ(table.rows().size(), 1U + 4 + 1);
  EXPECT_EQ(table.rows().back().tid, 0);
}

TEST_F(ProcessTableTest, AFileIsOneModuleInAllProcesses) {
  table.AddProcess(200, model::MakeComm("other"), false);
  table.ApplyMap(MapOf(0x1000, 0x1000, "/lib/c", 7));
  table.ApplyMap(MapOf(0x9000, 0x1000, "/lib/c", 7, 200));
  table.ApplyMap(MapOf(0xa000, 0x1000, "//anon", 0, 200));
  table.ApplyMap(MapOf(0xb000, 0x1000, "//anon", 0));
  EXPECT_EQ(table.TakeNewModules().size(), 3U);
  EXPECT_THAT(table.TakeNewModules(), IsEmpty());
}

TEST_F(ProcessTableTest, MappingsAtTheEndOfTheAddressSpaceAreHeld) {
  table.ApplyMap(MapOf(~uint64_t{0} - 10, ~uint64_t{0}, "/odd", 1));
  EXPECT_NE(table.FindRange(kPid, ~uint64_t{0} - 1), nullptr);
}

// ---- StackTable ----

model::CallChain Chain(std::span<const uint64_t> kernel, std::span<const uint64_t> user,
                       bool truncated = false) {
  return {kernel, user, truncated, true, {}};
}

TEST_F(ProcessTableTest, EqualChainsShareAnIdAndDifferentOnesNeverDo) {
  StackTable stacks(table);
  const uint64_t kernel[] = {1, 2, 3};
  const uint64_t user[] = {0x1010, 0x1020};
  const uint64_t other[] = {0x1010, 0x1021};
  const model::StackIds a = stacks.Intern(kPid, Chain(kernel, user));
  const model::StackIds b = stacks.Intern(kPid, Chain(kernel, user));
  const model::StackIds c = stacks.Intern(kPid, Chain(kernel, other));
  const model::StackIds cut = stacks.Intern(kPid, Chain(kernel, user, true));
  const model::StackIds foreign = stacks.Intern(200, Chain(kernel, user));
  EXPECT_EQ(a.kernel, b.kernel);
  EXPECT_EQ(a.user, b.user);
  EXPECT_EQ(a.kernel, c.kernel);
  EXPECT_NE(a.user, c.user);
  EXPECT_NE(a.user, cut.user);
  EXPECT_NE(a.user, foreign.user);
  EXPECT_NE(a.user, a.kernel);
  EXPECT_EQ(stacks.Intern(kPid, Chain({}, user)).kernel, 0U);
}

TEST_F(ProcessTableTest, ANewStackComesWithModuleAndFileOffset) {
  table.ApplyMap(MapOf(0x1000, 0x1000, "/bin/a", 1, kPid, 0x400));
  StackTable stacks(table);
  const uint64_t user[] = {0x1010, 0x2000, 0x5000};  // the second returns just behind the mapping
  stacks.Intern(kPid, Chain({}, user));
  const std::vector<model::RawStack> fresh = stacks.TakeNewStacks();
  ASSERT_EQ(fresh.size(), 1U);
  EXPECT_EQ(fresh[0].frames[0].offset, 0x410U);
  EXPECT_EQ(fresh[0].frames[1].offset, 0x1400U);
  EXPECT_EQ(fresh[0].frames[1].module, fresh[0].frames[0].module);
  EXPECT_EQ(fresh[0].frames[2].module, 0U);
}

TEST_F(ProcessTableTest, AfterAnExecTheSameAddressesAreAnotherStack) {
  StackTable stacks(table);
  const uint64_t user[] = {0x1010};
  const model::StackId before = stacks.Intern(kPid, Chain({}, user)).user;
  table.ApplyCommChange(Exec("app"));
  EXPECT_NE(stacks.Intern(kPid, Chain({}, user)).user, before);
}

TEST_F(ProcessTableTest, TheSameAddressesInTheNextProcessOfThatPidAreAnotherStack) {
  table.AddThread(kPid, kPid, model::MakeComm("first"));
  StackTable stacks(table);
  const uint64_t user[] = {0x1010, 0x1020};
  const model::StackId before = stacks.Intern(kPid, Chain({}, user)).user;
  EXPECT_EQ(stacks.Intern(kPid, Chain({}, user)).user, before);
  table.ApplyExit({1, kPid, kPid});
  ASSERT_FALSE(table.HasProcess(kPid));
  table.AddProcess(kPid, model::MakeComm("second"), false);
  EXPECT_NE(stacks.Intern(kPid, Chain({}, user)).user, before);
}

// The shortcut for what was seen last must not take one chain for another.
TEST_F(ProcessTableTest, ChainsThatDifferInOneFrameOnlyAreKeptApart) {
  StackTable stacks(table);
  std::vector<uint64_t> user(40, 0x1010);
  std::set<model::StackId> ids{stacks.Intern(kPid, Chain({}, user)).user};
  for (size_t at = 0; at < user.size(); ++at) {
    std::vector<uint64_t> other = user;
    other[at] = 0x2020;
    for (int repeat = 0; repeat < 2; ++repeat) {
      ids.insert(stacks.Intern(kPid, Chain({}, other)).user);
      ids.insert(stacks.Intern(kPid, Chain({}, user)).user);
    }
  }
  EXPECT_EQ(ids.size(), user.size() + 1);
}

TEST_F(ProcessTableTest, StacksBeyondTheLimitShareAnIdAndAreCounted) {
  StackTable stacks(table, /*max_stacks=*/1000);
  for (uint64_t i = 0; i < 3000; ++i) {
    const uint64_t user[] = {i, i + 1, i + 2};
    const model::StackId id = stacks.Intern(kPid, Chain({}, user)).user;
    EXPECT_EQ(id == StackTable::kOverflowStack, i >= 1000) << i;
  }
  EXPECT_EQ(stacks.overflows(), 2000U);
}

}  // namespace
}  // namespace offcpu::process
