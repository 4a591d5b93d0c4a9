// SPDX-License-Identifier: MIT
#include "kernel-compat/process_formats.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/event_formats.h"

namespace offcpu::kernel_compat {
namespace {

using test::FixtureFormat;
using test::RawRecord;
using test::Replaced;

// A real-time kernel's extra common byte moves every field.
struct Layout {
  const char* kernel;
  size_t shift;  // of all fields but those that stay aligned where they were
};
constexpr Layout kLayouts[] = {{"6.18-x86_64", 0}, {"6.1-rt-x86_64", 4}};

TEST(NewTask, TellsThreadsFromProcessesAndWhoMadeThem) {
  for (const auto& [kernel, shift] : kLayouts) {
    SCOPED_TRACE(kernel);
    const auto format = ParseNewTaskFormat(FixtureFormat(kernel, "task/task_newtask"));
    ASSERT_TRUE(format) << format.error().message;
    RawRecord record(44);
    record.Put(4, int32_t{700}).Put(8 + shift, int32_t{4194304});
    record.Put(32, uint64_t{0x003d0f00});  // as pthread_create has it
    auto task = ReadNewTask(record.bytes(), *format);
    ASSERT_TRUE(task);
    EXPECT_EQ(task->parent_tid, 700);
    EXPECT_EQ(task->tid, 4194304);
    EXPECT_TRUE(task->thread);
    record.Put(32, uint64_t{0x01200000});  // as fork has it
    task = ReadNewTask(record.bytes(), *format);
    ASSERT_TRUE(task);
    EXPECT_FALSE(task->thread);
    EXPECT_FALSE(ReadNewTask(record.bytes().first(39), *format));
  }
}

TEST(NewTask, FlagsOfA32BitKernelHaveFourBytes) {
  const auto format = ParseNewTaskFormat(FixtureFormat("3.10-armv7l", "task/task_newtask"));
  ASSERT_TRUE(format) << format.error().message;
  RawRecord record(36);
  record.Put(4, int32_t{1}).Put(8, int32_t{2}).Put(28, uint32_t{0x00010000});
  const auto task = ReadNewTask(record.bytes(), *format);
  ASSERT_TRUE(task);
  EXPECT_TRUE(task->thread);
}

TEST(Exec, TellsTheIdsBeforeAndAfterAndTheFile) {
  for (const auto& [kernel, shift] : kLayouts) {
    SCOPED_TRACE(kernel);
    const auto format = ParseExecFormat(FixtureFormat(kernel, "sched/sched_process_exec"));
    ASSERT_TRUE(format) << format.error().message;
    RawRecord record(48);
    const auto place = static_cast<uint32_t>(20 + shift);
    record.Put(8 + shift, uint32_t{9U << 16 | place});
    record.Put(12 + shift, int32_t{40}).Put(16 + shift, int32_t{43}).PutText(place, "/bin/cat");
    const auto exec = ReadExec(record.bytes(), *format);
    ASSERT_TRUE(exec);
    EXPECT_EQ(exec->tid, 40);
    EXPECT_EQ(exec->caller_tid, 43);
    EXPECT_EQ(exec->filename, "/bin/cat");
    record.Put(8 + shift, uint32_t{9U << 16 | 45U});
    EXPECT_EQ(ReadExec(record.bytes(), *format)->filename, "") << "it would end outside";
    EXPECT_FALSE(ReadExec(record.bytes().first(19 + shift), *format));
  }
}

TEST(Exit, NamesTheThread) {
  for (const auto& [kernel, shift] : kLayouts) {
    SCOPED_TRACE(kernel);
    const auto format = ParseExitFormat(FixtureFormat(kernel, "sched/sched_process_exit"));
    ASSERT_TRUE(format) << format.error().message;
    RawRecord record(36);
    record.Put(24 + shift, int32_t{77});
    EXPECT_EQ(ReadExit(record.bytes(), *format), 77);
    EXPECT_FALSE(ReadExit(record.bytes().first(27 + shift), *format));
  }
}

TEST(Rename, NamesTheThreadAndItsNewName) {
  for (const auto& [kernel, shift] : kLayouts) {
    SCOPED_TRACE(kernel);
    const auto format = ParseRenameFormat(FixtureFormat(kernel, "task/task_rename"));
    ASSERT_TRUE(format) << format.error().message;
    RawRecord record(56);
    record.Put(8 + shift, int32_t{77}).PutText(12 + shift, "old").PutText(28 + shift, "new name");
    const auto rename = ReadRename(record.bytes(), *format);
    ASSERT_TRUE(rename);
    EXPECT_EQ(rename->tid, 77);
    EXPECT_EQ(model::CommView(rename->comm), "new name");
    EXPECT_FALSE(ReadRename(record.bytes().first(43 + shift), *format));
  }
}

TEST(Rename, WithoutAPidFieldItIsTheWriter) {
  const std::string text = Replaced(FixtureFormat("6.18-x86_64", "task/task_rename"),
                                    "\tfield:pid_t pid;\toffset:8;\tsize:4;\tsigned:1;\n", "");
  const auto format = ParseRenameFormat(text);
  ASSERT_TRUE(format) << format.error().message;
  RawRecord record(56);
  record.Put(4, int32_t{12}).Put(8, int32_t{99}).PutText(28, "x");
  EXPECT_EQ(ReadRename(record.bytes(), *format)->tid, 12);
}

TEST(ProcessFormats, AMissingFieldIsNamedWithItsEvent) {
  const std::string text =
      Replaced(FixtureFormat("6.18-x86_64", "sched/sched_process_exec"), "old_pid", "other");
  const auto format = ParseExecFormat(text);
  ASSERT_FALSE(format);
  EXPECT_EQ(format.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(format.error().message.find("sched_process_exec"), std::string::npos);
  EXPECT_NE(format.error().message.find("old_pid"), std::string::npos);
}

}  // namespace
}  // namespace offcpu::kernel_compat
