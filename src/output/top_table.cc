// SPDX-License-Identifier: MIT
#include "output/top_table.h"

#include <algorithm>

#include <fmt/format.h>

#include "analyze/sampling.h"
#include "output/csv.h"
#include "output/json.h"
#include "output/missing.h"
#include "output/terminal.h"
#include "output/text_table.h"

namespace offcpu::output {
namespace {

using analyze::RankBy;
using analyze::Ranking;
using analyze::RankRow;

std::string ReasonName(const RankRow& row) {
  return std::string(model::kReasonNames[static_cast<size_t>(row.main_reason())]);
}

// Titles of the last column, by RankBy.
constexpr const char* kTitles[] = {"WHERE: KERNEL <- USER <- CALLER",
                                   "INNERMOST FUNCTION",
                                   "FUNCTION",
                                   "STACK",
                                   "MODULE",
                                   "THREAD",
                                   "PROCESS",
                                   "REASON",
                                   "STATE"};

// What the rows below the limit add up to.
analyze::SliceTotal RestOf(const Ranking& ranking, size_t limit) {
  analyze::SliceTotal rest;
  for (size_t i = limit; i < ranking.rows.size(); ++i) {
    rest.intervals += ranking.rows[i].intervals;
    rest.ns += ranking.rows[i].ns;
  }
  return rest;
}

std::string TotalLine(const profile::Profile& profile, const Ranking& ranking, size_t limit) {
  std::string text = fmt::format("Selected: {} in {} {} = 100 %", FormatDuration(ranking.kept.ns),
                                 ranking.kept.intervals, CountName(profile));
  if (ranking.by == RankBy::kFunction) {
    text += "; a wait counts in every function of its stack, so rows overlap";
  }
  if (ranking.rows.size() > limit) {
    const analyze::SliceTotal rest = RestOf(ranking, limit);
    text += fmt::format("; {} rows not shown", ranking.rows.size() - limit);
    if (ranking.by != RankBy::kFunction) {
      text +=
          fmt::format(": {} ({})", FormatDuration(rest.ns), FormatShare(rest.ns, ranking.kept.ns));
    }
  }
  if (ranking.filtered.intervals > 0) {
    text += fmt::format("; filtered out: {} in {} {}", FormatDuration(ranking.filtered.ns),
                        ranking.filtered.intervals, CountName(profile));
  }
  return text + ".\n";
}

Json RowJson(const profile::Profile& profile, const Ranking& ranking, size_t index) {
  const RankRow& row = ranking.rows[index];
  Json json;
  json["rank"] = index + 1;
  json["where"] = RowText(ranking, row);
  json["parts"] = row.parts;
  if (row.thread != 0) {
    json["pid"] = profile.threads[row.thread].pid;
    if (ranking.by == RankBy::kThread) json["tid"] = profile.threads[row.thread].tid;
  }
  json["ns"] = row.ns;
  json[CountName(profile)] = row.intervals;
  if (profile.origin.sampled()) {
    json["error_ns"] = analyze::SamplingError(profile, row.by_thread);
  } else {
    json["mean_ns"] = row.mean_ns();
    json["max_ns"] = row.max_ns;
  }
  json["sleeping_ns"] = row.time.sleeping;
  json["runqueue_ns"] = row.time.runqueue;
  json["unsplit_ns"] = row.time.unsplit;
  json["reason"] = ReasonName(row);
  return json;
}

}  // namespace

std::string TopText(const profile::Profile& profile, const Ranking& ranking, size_t limit) {
  // A sampled time has a standard error, and no single waits.
  const bool sampled = profile.origin.sampled();
  TextTable table({{"#"},
                   {"TIME"},
                   {"SHARE"},
                   {sampled ? "SAMPLES" : "COUNT"},
                   {sampled ? "ERROR" : "MEAN"},
                   {sampled ? "" : "MAX"},
                   {"REASON", TextTable::Align::kLeft},
                   {kTitles[static_cast<size_t>(ranking.by)], TextTable::Align::kLeft}});
  for (size_t i = 0; i < std::min(limit, ranking.rows.size()); ++i) {
    const RankRow& row = ranking.rows[i];
    table.AddRow(
        {std::to_string(i + 1), FormatDuration(row.ns), FormatShare(row.ns, ranking.kept.ns),
         std::to_string(row.intervals),
         FormatDuration(sampled ? analyze::SamplingError(profile, row.by_thread) : row.mean_ns()),
         sampled ? "" : FormatDuration(row.max_ns), ReasonName(row), RowText(ranking, row)});
  }
  std::string text = table.Render() + '\n' + TotalLine(profile, ranking, limit);
  if (const std::string missing = MissingLine(profile); !missing.empty()) text += missing + '\n';
  return text;
}

std::string TopJson(const profile::Profile& profile, const Ranking& ranking, size_t limit) {
  Json json;
  json["by"] = analyze::kRankNames[static_cast<size_t>(ranking.by)];
  json["window_ns"] = profile.window_ns;
  json["rows"] = Json::array();
  const size_t shown = std::min(limit, ranking.rows.size());
  for (size_t i = 0; i < shown; ++i) json["rows"].push_back(RowJson(profile, ranking, i));
  Json summary;
  summary[CountName(profile)] = ranking.kept.intervals;
  summary["ns"] = ranking.kept.ns;
  summary["rows"] = ranking.rows.size();
  summary["inclusive"] = ranking.by == RankBy::kFunction;
  summary["not_shown"] = TotalJson(profile, RestOf(ranking, limit));
  summary["filtered"] = TotalJson(profile, ranking.filtered);
  summary.update(MissingJson(profile));
  json["summary"] = std::move(summary);
  return JsonDocument(json);
}

std::string TopCsv(const profile::Profile& profile, const Ranking& ranking, size_t limit) {
  const bool sampled = profile.origin.sampled();
  std::string text =
      CsvRow({"rank", "ns", CountName(profile), sampled ? "error_ns" : "mean_ns", "max_ns",
              "sleeping_ns", "runqueue_ns", "unsplit_ns", "reason", "where"});
  for (size_t i = 0; i < std::min(limit, ranking.rows.size()); ++i) {
    const RankRow& row = ranking.rows[i];
    text += CsvRow(
        {std::to_string(i + 1), std::to_string(row.ns), std::to_string(row.intervals),
         std::to_string(sampled ? analyze::SamplingError(profile, row.by_thread) : row.mean_ns()),
         sampled ? "" : std::to_string(row.max_ns), std::to_string(row.time.sleeping),
         std::to_string(row.time.runqueue), std::to_string(row.time.unsplit), ReasonName(row),
         RowText(ranking, row)});
  }
  return text;
}

}  // namespace offcpu::output
