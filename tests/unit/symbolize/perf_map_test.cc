// SPDX-License-Identifier: MIT
#include "symbolize/perf_map.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/parse.h"
#include "symbolize/open_file.h"
#include "tests/support/scratch_tree.h"

namespace offcpu::symbolize {
namespace {

using testing::ScratchTree;

PerfMap MapOf(std::string_view text) {
  PerfMap map;
  map.Append(text);
  return map;
}

Result<void> UpdateFrom(const std::string& path, PerfMap* map) {
  auto file = OpenRegularFile(path);
  if (!file) return file.error();
  return map->Update(file->fd.get());
}

TEST(PerfMapTest, LinesAreHexStartHexSizeAndName) {
  const PerfMap map = MapOf("1000 10 first name\n0x2000 0x20 LLib;::run (x, y)\nAB00 1f upper\r\n");
  EXPECT_EQ(map.Find(0x1000), "first name");
  EXPECT_EQ(map.Find(0x100f), "first name");
  EXPECT_EQ(map.Find(0x1010), "");
  EXPECT_EQ(map.Find(0x0fff), "");
  EXPECT_EQ(map.Find(0x201f), "LLib;::run (x, y)");
  EXPECT_EQ(map.Find(0xab00), "upper");
}

TEST(PerfMapTest, TheLaterLineWinsWhereTheyOverlap) {
  const PerfMap inside = MapOf("100 100 old\n140 20 new\n");
  EXPECT_EQ(inside.Find(0x13f), "old");
  EXPECT_EQ(inside.Find(0x140), "new");
  EXPECT_EQ(inside.Find(0x15f), "new");
  EXPECT_EQ(inside.Find(0x160), "old");
  EXPECT_EQ(inside.Find(0x1ff), "old");

  const PerfMap across = MapOf("100 40 a\n140 40 b\n180 40 c\n120 80 new\n");
  EXPECT_EQ(across.Find(0x11f), "a");
  EXPECT_EQ(across.Find(0x120), "new");
  EXPECT_EQ(across.Find(0x150), "new");
  EXPECT_EQ(across.Find(0x19f), "new");
  EXPECT_EQ(across.Find(0x1a0), "c");

  EXPECT_EQ(MapOf("100 40 a\n100 40 b\n").Find(0x100), "b");
  EXPECT_EQ(MapOf("100 80 a\n100 40 b\n").Find(0x150), "a");
}

TEST(PerfMapTest, DamagedLinesAreSkipped) {
  const PerfMap map = MapOf(
      "\nxyz 10 bad start\n1000 zz bad size\n1000 10\n1000 10 \n1000\n1000 0 empty\n"
      "fffffffffffffff0 100 wraps\n11112222333344445 10 too long\n-10 10 minus\n2000 10 good\n");
  EXPECT_EQ(map.size(), 1U);
  EXPECT_EQ(map.Find(0x2000), "good");
}

TEST(PerfMapTest, AnEmptyMapGrows) {
  const ScratchTree tree;
  const std::string path = tree.Write("perf-1.map", "");
  PerfMap map;
  ASSERT_TRUE(UpdateFrom(path, &map));
  EXPECT_EQ(map.size(), 0U);
  tree.Append("perf-1.map", "1000 10 a\n2000 10 b\n3000 1");  // the last line is being written
  ASSERT_TRUE(UpdateFrom(path, &map));
  EXPECT_EQ(map.Find(0x2000), "b");
  tree.Append("perf-1.map", "0 whole\n1000 10 newer\n");
  ASSERT_TRUE(UpdateFrom(path, &map));
  EXPECT_EQ(map.Find(0x3005), "whole");
  EXPECT_EQ(map.Find(0x1000), "newer");
}

TEST(PerfMapTest, AMapWrittenAnewIsReadAnew) {
  const ScratchTree tree;
  PerfMap map;
  ASSERT_TRUE(UpdateFrom(tree.Write("m", "1000 10 a\n2000 10 b\n"), &map));
  ASSERT_TRUE(UpdateFrom(tree.Write("m", "5000 10 c\n6000 10 d\n7000 10 e\n"), &map));
  EXPECT_EQ(map.Find(0x1000), "");
  EXPECT_EQ(map.Find(0x5000), "c");
  ASSERT_TRUE(UpdateFrom(tree.Write("m", "8000 10 f\n"), &map));
  EXPECT_EQ(map.Find(0x5000), "");
  EXPECT_EQ(map.Find(0x8000), "f");
}

TEST(PerfMapTest, AMapBeyondTheBoundSaysSo) {
  const ScratchTree tree;
  const std::string path = tree.Write("m", "1000 10 a\n");
  std::filesystem::resize_file(path, (64U << 20) + 4096);  // sparse
  PerfMap map;
  ASSERT_TRUE(UpdateFrom(path, &map));
  EXPECT_TRUE(map.full());
  EXPECT_EQ(map.Find(0x1000), "a");
}

// What the later-line-wins rule means, the slow way.
std::string SlowFind(const std::vector<std::string_view>& lines, uint64_t address) {
  for (size_t i = lines.size(); i-- > 0;) {
    const std::string_view line = lines[i];
    const size_t first = line.find(' ');
    const size_t second = first == std::string_view::npos ? first : line.find(' ', first + 1);
    if (second == std::string_view::npos) continue;
    uint64_t begin = 0;
    uint64_t size = 0;
    if (!ParseNumber(line.substr(0, first), &begin, 16) ||
        !ParseNumber(line.substr(first + 1, second - first - 1), &size, 16) ||
        begin + size < begin || address < begin || address - begin >= size) {
      continue;
    }
    return std::string(Trim(line.substr(second)));
  }
  return {};
}

void ExpectLikeTheSlowWay(const std::string& path) {
  const auto text = ReadSmallFile(path);
  if (!text) GTEST_SKIP() << "no " << path;
  PerfMap map;
  ASSERT_TRUE(UpdateFrom(path, &map));
  const auto lines = Split(*text, '\n');
  std::mt19937_64 random(7);
  int named = 0;
  for (int i = 0; i < 1500; ++i) {
    uint64_t begin = 0;
    const std::string_view line = lines[random() % lines.size()];
    if (!ParseNumber(line.substr(0, line.find(' ')), &begin, 16)) continue;
    const uint64_t address = begin + random() % 300;
    const std::string name = SlowFind(lines, address);
    EXPECT_EQ(map.Find(address), name) << std::hex << address;
    if (!name.empty()) ++named;
  }
  EXPECT_GT(named, 500);
}

TEST(PerfMapTest, NodesMapReadsLikeTheSlowWay) {
  ExpectLikeTheSlowWay(testing::TestData("perf-map/resolve-jit-symbols/fixtures-jit.map"));
}

TEST(PerfMapTest, NodesLargeMapReadsLikeTheSlowWay) {
  ExpectLikeTheSlowWay(testing::TestData("perf-map/resolve-jit-symbols/fixtures-large-jit.map"));
}

TEST(PerfMapTest, DotNetsMapReadsLikeTheSlowWay) {
  ExpectLikeTheSlowWay(testing::TestData("perf-map/ddprof/proc/42/root/tmp/perf-42.map"));
}

}  // namespace
}  // namespace offcpu::symbolize
