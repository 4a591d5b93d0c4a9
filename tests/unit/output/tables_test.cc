// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analyze/frame_text.h"
#include "analyze/rank.h"
#include "output/dump.h"
#include "output/info_report.h"
#include "output/missing.h"
#include "output/thread_table.h"
#include "output/top_table.h"
#include "tests/support/profile_fixture.h"
#include "tests/support/wait_profiles.h"

namespace offcpu::output {
namespace {

using nlohmann::json;

std::vector<profile::ThreadId> AllThreads(const profile::Profile& profile) {
  std::vector<profile::ThreadId> ids;
  for (profile::ThreadId id = 1; id < profile.threads.size(); ++id) ids.push_back(id);
  return ids;
}

std::string DumpOf(const profile::Profile& profile, DumpFormat format) {
  std::string text;
  const auto done = Dump(profile, format, [&text](std::string_view piece) -> Result<void> {
    text += piece;
    return {};
  });
  EXPECT_TRUE(done);
  return text;
}

TEST(Threads, AddUpToTheLifeOfEachThread) {
  const profile::Profile profile = testing::SampleProfile();
  const auto document = json::parse(ThreadsJson(profile, AllThreads(profile)));
  EXPECT_EQ(document["window_ns"], profile.window_ns);
  ASSERT_EQ(document["threads"].size(), 4);
  for (const json& row : document["threads"]) {
    const auto number = [&row](const char* name) { return row.at(name).get<uint64_t>(); };
    EXPECT_EQ(number("blocked_ns"),
              number("sleeping_ns") + number("runqueue_ns") + number("unsplit_ns"));
    EXPECT_EQ(number("on_cpu_ns") + number("blocked_ns") + number("runnable_ns") +
                  number("preempted_ns") + number("newborn_ns") + number("unknown_ns"),
              number("last_ns") - number("first_ns"));
  }
}

TEST(Threads, HaveTheNamesThatScriptsRelyOn) {
  const profile::Profile profile = testing::EmptyProfile();
  const std::string csv = ThreadsCsv(profile, AllThreads(profile));
  EXPECT_TRUE(csv.starts_with(
      "pid,tid,comm,first_ns,last_ns,on_cpu_ns,blocked_ns,sleeping_ns,runqueue_ns,unsplit_ns,"
      "runnable_ns,preempted_ns,newborn_ns,unknown_ns,voluntary_switches,involuntary_switches,"))
      << csv;
  const auto row =
      nlohmann::ordered_json::parse(ThreadsJson(profile, AllThreads(profile)))["threads"][0];
  std::string names;
  for (const auto& [name, value] : row.items()) names += (names.empty() ? "" : ",") + name;
  EXPECT_EQ(csv.substr(0, csv.find('\n')), names);
}

TEST(Threads, ShowProcessAndThreadNamesAndBothIds) {
  const profile::Profile profile = testing::SampleProfile();
  const std::string text = ThreadsText(profile, AllThreads(profile));
  EXPECT_NE(text.find(" 1/2  worker "), std::string::npos) << text;
  EXPECT_NE(text.find("server (7 ended threads)"), std::string::npos) << text;
  EXPECT_NE(text.find("12 lost events"), std::string::npos) << text;
  EXPECT_EQ(ThreadsText(testing::WaitsProfile(), {1}).find("INNER"), std::string::npos);
}

TEST(Threads, ReplaceBytesThatAreNoUtf8InJson) {
  const profile::Profile profile = testing::NamesProfile();
  const auto document = json::parse(ThreadsJson(profile, AllThreads(profile)));
  const bool replaced =
      std::any_of(document["threads"].begin(), document["threads"].end(),
                  [](const json& row) { return row["comm"] == "fourteen bytes\xef\xbf\xbd"; });
  EXPECT_TRUE(replaced);
}

TEST(Top, ShowsWhatTheRowsBelowTheLimitAddUpTo) {
  const profile::Profile profile = testing::WaitsProfile();
  const std::vector<std::string> texts = analyze::FrameTexts(profile);
  const auto filter = analyze::Filter::Create(profile, texts, analyze::Selection());
  ASSERT_TRUE(filter);
  const analyze::Ranking ranking =
      Rank(profile, texts, *filter, analyze::RankBy::kPlace, analyze::Weights::kObserved);
  const auto document = json::parse(TopJson(profile, ranking, 2));
  ASSERT_EQ(document["rows"].size(), 2);
  EXPECT_EQ(document["summary"]["rows"], ranking.rows.size());
  const uint64_t shown =
      document["rows"][0]["ns"].get<uint64_t>() + document["rows"][1]["ns"].get<uint64_t>();
  EXPECT_EQ(shown + document["summary"]["not_shown"]["ns"].get<uint64_t>(),
            document["summary"]["ns"].get<uint64_t>());
  EXPECT_NE(TopText(profile, ranking, 2).find("5 rows not shown: 8.75 s (34.1 %)"),
            std::string::npos);
  EXPECT_EQ(TopText(profile, ranking, 20).find("not shown"), std::string::npos);
}

TEST(Info, BeginsWithTheLosses) {
  const std::string text = InfoText(testing::SampleProfile());
  EXPECT_TRUE(text.starts_with("Losses\n  events             12 lost\n")) << text;
  EXPECT_TRUE(InfoText(testing::WaitsProfile()).starts_with("Losses\n  events             none"));
}

TEST(Info, HasTheNamesThatScriptsRelyOn) {
  const auto document = json::parse(InfoJson(testing::SampleProfile()));
  EXPECT_EQ(document["backend"], "perf");
  EXPECT_EQ(document["window_ns"], 10'000'000'000);
  EXPECT_EQ(document["intervals"]["blocked"]["count"], 25);
  EXPECT_EQ(document["intervals"]["blocked"]["ns"], 9'077'000'000);
  EXPECT_EQ(document["rejected"]["min_off_cpu"]["ns"], 4000);
  EXPECT_EQ(document["losses"]["events"], 12);
  EXPECT_EQ(document["losses"]["spans"].size(), 2);
  EXPECT_EQ(document["losses"]["spans_dropped"], 1);
  EXPECT_EQ(document["stacks"], 5);
}

TEST(Info, ListsManyLossesBySecondAndCutsTheList) {
  profile::Profile profile = testing::EmptyProfile();
  for (uint64_t second = 0; second < 30; ++second) {
    profile.losses.push_back({0, second * kNanosPerSecond, second * kNanosPerSecond + 1, 1});
  }
  EXPECT_NE(InfoText(profile).find("and 10 more rows"), std::string::npos);
}

TEST(Missing, IsEmptyWhenNothingIsMissing) {
  EXPECT_EQ(MissingLine(testing::WaitsProfile()), "");
  EXPECT_EQ(LossText(testing::WaitsProfile()), "");
}

TEST(Missing, NamesEveryCause) {
  EXPECT_EQ(MissingLine(testing::SampleProfile()),
            "Not in here: 12 lost events in 3 spans over <0.1 % of the window; 4 rejected "
            "intervals, 4.00 us; unknown time of threads 600 ns (offcpu info tells more).");
}

TEST(Missing, AddsCountersOfOneName) {
  const Json sums = CountersJson({{"a", 1, 10}, {"b", 5, 0}, {"a", 2, 20}});
  EXPECT_EQ(sums.dump(), R"({"a":{"count":3,"ns":30},"b":{"count":5,"ns":0}})");
}

TEST(Dump, HasOneJsonObjectForEveryRecord) {
  const profile::Profile profile = testing::NamesProfile();
  const std::string text = DumpOf(profile, DumpFormat::kJson);
  std::vector<std::string> kinds;
  size_t begin = 0;
  for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    kinds.push_back(json::parse(text.substr(begin, end - begin))["kind"]);
  }
  EXPECT_EQ(begin, text.size());
  const auto count = [&kinds](const char* kind) {
    return static_cast<size_t>(std::count(kinds.begin(), kinds.end(), kind));
  };
  EXPECT_EQ(kinds.front(), "start");
  EXPECT_EQ(kinds.back(), "end");
  EXPECT_EQ(count("string"), profile.strings.size() - 1);
  EXPECT_EQ(count("frame"), profile.frames.size() - 1);
  EXPECT_EQ(count("node"), profile.nodes.size() - 1);
  EXPECT_EQ(count("thread"), profile.threads.size() - 1);
  EXPECT_EQ(count("entry"), profile.entries.size());
}

TEST(Dump, ShowsTheTextOnOneSafeLineARecord) {
  const profile::Profile profile = testing::NamesProfile();
  const std::string text = DumpOf(profile, DumpFormat::kText);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  const std::string json_lines = DumpOf(profile, DumpFormat::kJson);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'),
            std::count(json_lines.begin(), json_lines.end(), '\n'));
  EXPECT_NE(text.find("name=\"two\\x0alines\\x0d\""), std::string::npos);
}

TEST(Dump, StopsAtTheFirstErrorOfTheWriter) {
  int calls = 0;
  const auto done =
      Dump(testing::LargeProfile(), DumpFormat::kJson, [&calls](std::string_view) -> Result<void> {
        ++calls;
        return Failed("full");
      });
  EXPECT_FALSE(done);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace offcpu::output
