// SPDX-License-Identifier: MIT
// Recordings of real JVMs, read where they lie (OFFCPU_TEST_DATA), held against what the JDK's own
// tool and other readers say about them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/parse.h"
#include "jfr/listing.h"
#include "jfr/recording.h"
#include "tests/support/scratch_tree.h"

namespace offcpu::jfr {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Counts = std::map<std::string, uint64_t>;

// What a command writes to its standard output; empty where it can't be run.
std::string OutputOf(const std::string& command) {
  std::string text;
  FILE* pipe = ::popen((command + " 2> /dev/null").c_str(), "re");
  if (pipe == nullptr) return text;
  std::array<char, 65536> part{};
  for (size_t got = 0; (got = std::fread(part.data(), 1, part.size(), pipe)) > 0;) {
    text.append(part.data(), got);
  }
  ::pclose(pipe);
  return text;
}

std::string Quoted(const std::string& path) { return "'" + path + "'"; }

// The rows of one recording: events in the order in which they lie.
struct Rows {
  std::vector<std::string> rows;
  Counts counts;
  uint64_t unreadable = 0;
  uint64_t unknown = 0;
  size_t chunks = 0;
  Damage damage;
};

class RealJfrTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(Path(""))) GTEST_SKIP() << "no recordings in " << Path("");
  }
  static std::string Path(const std::string& name) { return testing::TestData("jfr/" + name); }

  static Rows Read(const std::string& name) {
    Rows all;
    auto recording = Recording::Open(Path(name));
    if (!recording) {
      ADD_FAILURE() << recording.error().message;
      return all;
    }
    while (const auto chunk = recording->NextChunk()) ReadChunk(*chunk, &all);
    all.damage = recording->damage();
    return all;
  }
  static void ReadChunk(const Chunk& chunk, Rows* all) {
    ++all->chunks;
    CountEvents(chunk, &all->counts);
    all->unknown += chunk.unknown_events();
    Selection selection;
    selection.AddAllOf(chunk);
    Names names(&chunk);
    EventCursor cursor(&chunk, &selection, &names);
    while (const Event* event = cursor.Next()) {
      all->rows.push_back(EventRow(chunk, selection, cursor, *event, &names));
    }
    all->unreadable += cursor.unreadable_events();
  }
  static std::vector<std::string> RecordingNames() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(Path(""))) {
      if (entry.path().extension() == ".jfr") {
        names.push_back(std::filesystem::relative(entry.path(), Path("")).string());
      }
    }
    std::sort(names.begin(), names.end());
    return names;
  }
};

// "jdk.ThreadPark   531   18000": rows of three words, the second a number.
Counts CountsOfSummary(const std::string& text) {
  Counts counts;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, count, size, more;
    uint64_t number = 0;
    if (!(words >> name >> count >> size) || (words >> more)) continue;
    if (name.back() != ':' && ParseNumber(count, &number) && number > 0) counts[name] = number;
  }
  return counts;
}

TEST_F(RealJfrTest, CountsAreThoseOfTheJdksOwnSummary) {
  if (OutputOf("jfr version").empty()) GTEST_SKIP() << "no jfr command (a JDK)";
  size_t compared = 0;
  for (const std::string& name : RecordingNames()) {
    // Where type ids differ from chunk to chunk the JDK's tool counts by id and so mixes types up;
    // its `jfr print` says what this reader says.
    const bool ids_differ = name.ends_with("ap-jfrsync.jfr") || name.find("FastSlow") != name.npos;
    const Counts theirs = CountsOfSummary(OutputOf("jfr summary " + Quoted(Path(name))));
    if (ids_differ || theirs.empty()) continue;
    EXPECT_EQ(Read(name).counts, theirs) << name;
    ++compared;
  }
  EXPECT_GE(compared, 15U);
}

TEST_F(RealJfrTest, CountsAreThoseOfTheJdksOwnPrintWhereIdsDiffer) {
  if (OutputOf("jfr version").empty()) GTEST_SKIP() << "no jfr command (a JDK)";
  Counts theirs;
  std::istringstream lines(
      OutputOf("jfr print --stack-depth 1 " + Quoted(Path("own/ap-jfrsync.jfr"))));
  for (std::string line; std::getline(lines, line);) {
    const bool event = !line.empty() && line[0] != ' ' && line.ends_with(" {");
    if (event) ++theirs[line.substr(0, line.size() - 2)];
  }
  Counts ours = Read("own/ap-jfrsync.jfr").counts;
  EXPECT_EQ(ours["jdk.CheckPoint"], 49U);
  EXPECT_EQ(ours["jdk.Metadata"], 2U);
  ours.erase("jdk.CheckPoint");
  ours.erase("jdk.Metadata");
  EXPECT_EQ(ours, theirs);
}

TEST_F(RealJfrTest, EveryEventOfEveryRecordingFitsItsType) {
  size_t read = 0;
  for (const std::string& name : RecordingNames()) {
    if (name == "jmc/7u40.jfr") continue;
    const Rows rows = Read(name);
    EXPECT_EQ(rows.unreadable, 0U) << name;
    EXPECT_EQ(rows.unknown, 0U) << name;
    EXPECT_EQ(rows.damage.lost_bytes, 0U) << name;
    ++read;
  }
  EXPECT_GE(read, 19U);
}

TEST_F(RealJfrTest, RecordingsHoldWhatTheirReadmeSays) {
  Rows rows = Read("own/waits.jfr");
  EXPECT_EQ(rows.chunks, 1U);
  EXPECT_FALSE(rows.damage.any());
  EXPECT_EQ(rows.counts["jdk.ThreadPark"], 531U);
  EXPECT_EQ(rows.counts["jdk.ThreadSleep"], 1'209U);
  EXPECT_EQ(rows.counts["jdk.JavaMonitorEnter"], 166U);
  EXPECT_EQ(rows.counts["jdk.JavaMonitorWait"], 123U);
  EXPECT_EQ(rows.counts["jdk.SocketRead"], 149U);
  EXPECT_EQ(rows.counts["jdk.FileRead"], 484U);
  EXPECT_EQ(rows.counts["jdk.SafepointBegin"], 14U);
  EXPECT_EQ(rows.counts["jdk.SafepointEnd"], 13U);
  EXPECT_EQ(rows.counts["jdk.CheckPoint"], 44U);
  rows = Read("own/multichunk.jfr");
  EXPECT_EQ(rows.chunks, 3U);
  EXPECT_FALSE(rows.damage.any());
  EXPECT_EQ(rows.counts["jdk.ThreadPark"], 1'058U);
  EXPECT_EQ(rows.counts["jdk.ExecutionSample"], 203U);
  rows = Read("own/ap-wall.jfr");
  EXPECT_EQ(rows.counts["profiler.WallClockSample"], 6'940U);
  EXPECT_EQ(rows.counts["jdk.JavaMonitorEnter"], 267U);
  rows = Read("own/ap-jfrsync.jfr");
  EXPECT_EQ(rows.chunks, 2U);
  EXPECT_EQ(rows.counts["profiler.WallClockSample"], 5'474U);
  EXPECT_EQ(rows.counts["jdk.ExecutionSample"], 788U);
  rows = Read("grafana-jfr-parser/FastSlow_2024_01_16_180855.jfr");
  EXPECT_EQ(rows.chunks, 3U);
  EXPECT_EQ(rows.counts["jdk.ExecutionSample"], 1'012U);
}

TEST_F(RealJfrTest, UnfinishedChunksAreReadAndReported) {
  const Rows live = Read("own/inprogress.jfr");
  EXPECT_THAT(live.damage.Lines(), ElementsAre("1 chunk was never finished"));
  EXPECT_GT(live.rows.size(), 1'000U);
  const Rows killed = Read("own/killed.jfr");
  EXPECT_EQ(killed.chunks, 2U);
  EXPECT_THAT(killed.damage.Lines(), ElementsAre("1 chunk was never finished"));
  const Rows unflushed = Read("own/nometa.jfr");
  EXPECT_THAT(unflushed.rows, IsEmpty());
  EXPECT_EQ(unflushed.damage.chunks_without_metadata, 1U);
}

TEST_F(RealJfrTest, OldFormatsAreRefusedOrRead) {
  const auto packed = Recording::Open(Path("jmc/7u40.jfr"));
  ASSERT_FALSE(packed);
  EXPECT_THAT(packed.error().message, HasSubstr("compressed with gzip"));
  EXPECT_THAT(packed.error().hint, HasSubstr("JDK before 9"));
  Rows old = Read("jmc/9u0.jfr");
  EXPECT_EQ(old.counts["com.oracle.jdk.ActiveSetting"], 218U);
  EXPECT_EQ(old.counts["com.oracle.jdk.CheckPoint"], 4U);
  EXPECT_FALSE(old.damage.any());
}

TEST_F(RealJfrTest, ADamagedChunkDoesNotHideTheNext) {
  const Rows rows = Read("jafar/AZ0slzMAAAC9yoVJD_6NAwAA.jfr");
  EXPECT_EQ(rows.chunks, 2U);
  EXPECT_EQ(rows.damage.checkpoints, 78U);
  EXPECT_EQ(rows.damage.lost_bytes, 0U);
}

TEST_F(RealJfrTest, TruncatedRecordingsKeepWhatIsThere) {
  const testing::ScratchTree tree;
  const auto cut = [&](const std::string& name, size_t length) {
    const auto whole = ReadSmallFile(Path(name));
    return Recording::Open(tree.Write("cut.jfr", std::string_view(*whole).substr(0, length)));
  };
  for (const size_t length : {0, 3, 60}) EXPECT_FALSE(cut("own/waits.jfr", length)) << length;
  for (const size_t length : {68, 100, 8'000, 150'000}) {
    auto recording = cut("own/waits.jfr", length);
    ASSERT_TRUE(recording) << length;
    while (const auto chunk = recording->NextChunk()) {
      EXPECT_TRUE(chunk->damage().cut);
      EXPECT_EQ(chunk->damage().no_metadata, length < 108'000);
    }
    EXPECT_EQ(recording->damage().cut_chunks, 1U) << length;
  }
  auto recording = cut("own/multichunk.jfr", 400'000);
  Rows rows;
  while (const auto chunk = recording->NextChunk()) ReadChunk(*chunk, &rows);
  EXPECT_EQ(rows.chunks, 2U);
  EXPECT_GT(rows.counts["jdk.ThreadPark"], 353U);
  EXPECT_EQ(rows.unreadable, 0U);
  EXPECT_EQ(recording->damage().cut_chunks, 1U);
}

// --- Row by row against `jfr print` ---

// A row of NAME.expected.tsv, or of ours.
struct Row {
  std::string type;
  int64_t start = 0;
  std::vector<std::string> columns;
  std::map<std::string, std::string> fields;
};

std::vector<std::string> Parts(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (const std::string_view part : Split(text, separator)) parts.emplace_back(part);
  return parts;
}

Row ParseRow(const std::string& line) {
  Row row;
  row.columns = Parts(line, '\t');
  if (row.columns.size() < 9) return row;
  row.type = row.columns[0];
  (void)ParseNumber(row.columns[1], &row.start);
  if (row.columns.size() > 9) {
    for (const std::string& field : Parts(row.columns[9], ';')) {
      const size_t equals = field.find('=');
      row.fields[field.substr(0, equals)] = equals == field.npos ? "" : field.substr(equals + 1);
    }
  }
  row.columns.resize(9);
  row.columns[1].clear();
  return row;
}

void Sort(std::vector<Row>* rows) {
  const auto key = [](const Row& row) {
    return std::tie(row.type, row.columns[3], row.start, row.columns[2], row.columns[6]);
  };
  std::sort(rows->begin(), rows->end(),
            [&](const Row& a, const Row& b) { return key(a) < key(b); });
}

bool SameValue(const std::string& expected, const std::string& ours) {
  return expected == ours ||
         (expected.find('.') != expected.npos &&
          std::strtof(expected.c_str(), nullptr) == std::strtof(ours.c_str(), nullptr));
}

class PrintedRowsTest : public RealJfrTest {
 protected:
  // All rows of `name`'s expectations, each with the fields that stand there. Returns how many.
  static size_t Compare(const std::string& name, int64_t tolerance) {
    std::vector<Row> theirs, ours;
    std::istringstream lines(OutputOf("zcat " + Quoted(Path("own/" + name + ".expected.tsv.gz"))));
    std::map<std::string, bool> wanted;
    for (std::string line; std::getline(lines, line);) {
      if (line[0] == '#') continue;
      theirs.push_back(ParseRow(line));
      wanted[theirs.back().type] = true;
    }
    for (const std::string& line : Read("own/" + name + ".jfr").rows) {
      Row row = ParseRow(line);
      if (wanted.count(row.type) != 0) ours.push_back(std::move(row));
    }
    EXPECT_EQ(ours.size(), theirs.size()) << name;
    Sort(&theirs);
    Sort(&ours);
    for (size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
      CompareRow(theirs[i], ours[i], tolerance);
      if (HasFailure()) return i;
    }
    return theirs.size();
  }
  static void CompareRow(const Row& theirs, const Row& ours, int64_t tolerance) {
    EXPECT_EQ(ours.columns, theirs.columns) << theirs.start;
    EXPECT_LE(std::llabs(ours.start - theirs.start), tolerance) << theirs.start;
    for (const auto& [name, value] : theirs.fields) {
      const auto found = ours.fields.find(name);
      ASSERT_NE(found, ours.fields.end()) << theirs.type << " " << name;
      EXPECT_TRUE(SameValue(value, found->second))
          << theirs.type << " " << name << ": " << value << " is not " << found->second;
    }
  }
};

TEST_F(PrintedRowsTest, RowsAreThoseOfTheJdksOwnPrint) {
  EXPECT_EQ(Compare("waits", 0), 3'721U);
  EXPECT_EQ(Compare("ap-wall", 0), 7'717U);
  EXPECT_EQ(Compare("ap-jfrsync", 0), 10'354U);
  // The JDK's reader keeps the first chunk's time base for the others.
  EXPECT_EQ(Compare("multichunk", 1'000), 6'576U);
}

// --- Collapsed stacks of another reader ---

// That reader gives the classes that the JVM generates one name, and shows line -1 without sign.
std::string AsUpstreamWrites(const std::string& stack) {
  static const std::regex kLambda(R"(\$\$Lambda\$[0-9]+[./](0x)?[0-9a-f]+)");
  static const std::regex kAccessor(R"((GeneratedMethodAccessor)[0-9]+)");
  static const std::regex kNoLine(R"(:-1(;|$))");
  std::string text = std::regex_replace(stack, kLambda, "$$$$Lambda_");
  text = std::regex_replace(text, kAccessor, "$1_");
  return std::regex_replace(text, kNoLine, ":4294967295$1");
}

struct Weight {
  int64_t count = 0;
  int64_t ticks = 0;
};

class CollapsedTest : public RealJfrTest {
 protected:
  static std::map<std::string, Weight> Stacks(const std::string& name, const std::string& type) {
    std::map<std::string, Weight> stacks;
    auto recording = Recording::Open(Path("grafana-jfr-parser/" + name + ".jfr"));
    if (!recording) return stacks;
    Selection selection;
    selection.Add(type, {"samples"});
    while (const auto chunk = recording->NextChunk()) {
      Names names(chunk.get());
      EventCursor cursor(chunk.get(), &selection, &names);
      while (const Event* event = cursor.Next()) {
        const StackTrace* stack = names.StackAt(event->stack);
        if (stack == nullptr) continue;
        Weight& weight = stacks[AsUpstreamWrites(CollapsedStack(*stack))];
        const Value samples = cursor.Field(0);
        weight.count += samples.kind == ValueKind::kInteger ? samples.Integer() : 1;
        weight.ticks += event->duration_ticks.value_or(0);
      }
    }
    return stacks;
  }
  // `scale`: nanoseconds of a sample; 0: the file holds counts and ticks (which upstream calls
  // nanoseconds).
  static void Compare(const std::string& name, const std::string& expected, const std::string& type,
                      int64_t scale) {
    std::vector<std::string> ours;
    for (const auto& [stack, weight] : Stacks(name, type)) {
      ours.push_back(stack + " [" +
                     (scale != 0
                          ? std::to_string(weight.count * scale)
                          : std::to_string(weight.count) + " " + std::to_string(weight.ticks)) +
                     "]");
    }
    const auto text =
        ReadSmallFile(Path("grafana-jfr-parser/" + name + expected + "_expected_collapsed.txt"));
    ASSERT_TRUE(text) << name;
    std::vector<std::string> theirs = Parts(*text, '\n');
    std::sort(ours.begin(), ours.end());
    std::sort(theirs.begin(), theirs.end());
    EXPECT_FALSE(theirs.empty());
    EXPECT_EQ(ours, theirs) << name << expected;
  }
};

TEST_F(CollapsedTest, StacksAreThoseOfAnotherReader) {
  constexpr int64_t kSample = 10'000'000;
  const std::string kafka = "cortex-dev-01__kafka-0__cpu_lock0_alloc0__0";
  Compare(kafka, "_0_block_contentions__count_delay__nanoseconds", "jdk.ThreadPark", 0);
  Compare(kafka, "_3_mutex_contentions__count_delay__nanoseconds", "jdk.JavaMonitorEnter", 0);
  Compare("FastSlow_2024_01_16_180855", "_2_wall_wall__nanoseconds", "jdk.ExecutionSample",
          kSample);
  Compare("dd-trace-java", "_3_process_cpu_cpu__nanoseconds", "jdk.ExecutionSample", kSample);
  Compare("wall_tick_sample", "_0_wall_wall__nanoseconds", "profiler.WallClockSample", kSample);
  Compare("wall_tick_sample", "_1_wall_wall__nanoseconds", "profiler.WallClockSample", kSample);
}

}  // namespace
}  // namespace offcpu::jfr
