// SPDX-License-Identifier: MIT
#include "kernel-compat/trace_formats.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/files.h"
#include "tests/support/event_formats.h"

namespace offcpu::kernel_compat {
namespace {

using test::FixtureFormat;
using test::RawRecord;
using test::Replaced;

std::string HeaderPage(const std::string& kernel) {
  return ReadSmallFile("kernel-compat/data/" + kernel + "/events/header_page").value_or("");
}

TEST(KernelStack, HoldsAsManyAddressesAsItSays) {
  for (const auto& [kernel, count_at] : {std::pair{"6.18-x86_64", 8}, {"6.1-rt-x86_64", 12}}) {
    SCOPED_TRACE(kernel);
    const auto format = ParseKernelStackFormat(FixtureFormat(kernel, "ftrace/kernel_stack"));
    ASSERT_TRUE(format) << format.error().message;
    RawRecord record(16 + 12 * 8);
    record.Put(static_cast<size_t>(count_at), int32_t{10});
    for (size_t i = 0; i < 12; ++i) record.Put(16 + i * 8, uint64_t{0xffffffff81000000} + i);
    std::vector<uint64_t> addresses{1, 2, 3};
    ASSERT_TRUE(ReadStack(record.bytes(), *format, &addresses));
    ASSERT_EQ(addresses.size(), 10U);
    EXPECT_EQ(addresses.front(), 0xffffffff81000000U);
    EXPECT_EQ(addresses.back(), 0xffffffff81000009U);
  }
}

TEST(KernelStack, ACountThatDoesNotFitIsRefused) {
  const auto format = ParseKernelStackFormat(FixtureFormat("6.18-x86_64", "ftrace/kernel_stack"));
  ASSERT_TRUE(format);
  RawRecord record(16 + 4 * 8);
  std::vector<uint64_t> addresses;
  for (const int32_t count : {5, -1, INT32_MAX, INT32_MIN}) {
    EXPECT_FALSE(ReadStack(record.Put(8, count).bytes(), *format, &addresses)) << count;
  }
  EXPECT_FALSE(ReadStack(record.bytes().first(15), *format, &addresses));
  EXPECT_TRUE(ReadStack(record.Put(8, int32_t{0}).bytes(), *format, &addresses));
  EXPECT_TRUE(addresses.empty());
}

TEST(KernelStack, EndsAtTheOldEndMarkAndLeavesOutTheTracersTrampolines) {
  const auto format = ParseKernelStackFormat(FixtureFormat("6.18-x86_64", "ftrace/kernel_stack"));
  ASSERT_TRUE(format);
  RawRecord record(16 + 4 * 8);
  record.Put(8, int32_t{4}).Put(16, uint64_t{0x7fffffff}).Put(24, uint64_t{0xffffffff81000001});
  record.Put(32, ~uint64_t{0}).Put(40, uint64_t{0xffffffff81000002});
  std::vector<uint64_t> addresses;
  ASSERT_TRUE(ReadStack(record.bytes(), *format, &addresses));
  EXPECT_EQ(addresses, (std::vector<uint64_t>{0xffffffff81000001}));
}

TEST(UserStack, EndsAtTheFirstZero) {
  const auto format = ParseUserStackFormat(FixtureFormat("6.18-x86_64", "ftrace/user_stack"));
  ASSERT_TRUE(format) << format.error().message;
  EXPECT_EQ(format->tgid.offset, 8);
  RawRecord record(16 + 8 * 8);
  for (size_t i = 0; i < 8; ++i) record.Put(16 + i * 8, i < 2 ? uint64_t{0x5000} + i : 0);
  std::vector<uint64_t> addresses;
  ASSERT_TRUE(ReadStack(record.bytes(), *format, &addresses));
  EXPECT_EQ(addresses, (std::vector<uint64_t>{0x5000, 0x5001}));
}

TEST(Stacks, AddressesOfA32BitKernelHaveFourBytes) {
  const auto format = ParseKernelStackFormat(FixtureFormat("3.10-armv7l", "ftrace/kernel_stack"));
  ASSERT_TRUE(format) << format.error().message;
  RawRecord record(12 + 3 * 4);
  record.Put(8, int32_t{3}).Put(12, 0xc0008000U).Put(16, 0xc0009000U).Put(20, 0xffffffffU);
  std::vector<uint64_t> addresses;
  ASSERT_TRUE(ReadStack(record.bytes(), *format, &addresses));
  EXPECT_EQ(addresses, (std::vector<uint64_t>{0xc0008000, 0xc0009000}));
}

TEST(Stacks, AnotherFormIsRefused) {
  const std::string text = FixtureFormat("6.18-x86_64", "ftrace/kernel_stack");
  EXPECT_FALSE(ParseKernelStackFormat(Replaced(text, "size:64", "size:72")));
  EXPECT_FALSE(ParseKernelStackFormat(Replaced(text, "caller[8]", "caller")));
  EXPECT_FALSE(ParseKernelStackFormat(Replaced(text, "caller", "callee")));
  EXPECT_FALSE(ParseKernelStackFormat(Replaced(text, "int size", "int count")));
}

TEST(RecordHead, LiesWhereTheFormatSays) {
  const auto head =
      ParseRecordHead(FixtureFormat("6.18-x86_64", "sched/sched_switch"), "sched_switch");
  ASSERT_TRUE(head) << head.error().message;
  EXPECT_EQ(head->type, (FieldLayout{0, 2, false, FieldKind::kPlain}));
  EXPECT_EQ(head->pid, (FieldLayout{4, 4, true, FieldKind::kPlain}));
}

TEST(PageLayout, IsThatOfTheKernelsWordSize) {
  const auto wide = ParsePageLayout(HeaderPage("6.18-x86_64"));
  ASSERT_TRUE(wide) << wide.error().message;
  EXPECT_EQ(wide->commit_size, 8U);
  EXPECT_EQ(wide->data_offset, 16U);
  EXPECT_EQ(wide->page_size(), 4096U);
  const auto narrow = ParsePageLayout(HeaderPage("3.10-armv7l"));
  ASSERT_TRUE(narrow) << narrow.error().message;
  EXPECT_EQ(narrow->commit_size, 4U);
  EXPECT_EQ(narrow->data_offset, 12U);
  EXPECT_EQ(narrow->page_size(), 4096U);
}

TEST(PageLayout, AnotherFormIsRefused) {
  const std::string text = HeaderPage("6.18-x86_64");
  EXPECT_FALSE(ParsePageLayout(""));
  EXPECT_FALSE(ParsePageLayout(Replaced(text, "timestamp", "time")));
  EXPECT_FALSE(ParsePageLayout(Replaced(text, "offset:16;\tsize:4080", "offset:24;\tsize:4072")));
  EXPECT_FALSE(ParsePageLayout(Replaced(text, "size:4080", "size:4081")));
  EXPECT_FALSE(ParsePageLayout(Replaced(text, "size:4080", "size:99999999999")));
}

}  // namespace
}  // namespace offcpu::kernel_compat
