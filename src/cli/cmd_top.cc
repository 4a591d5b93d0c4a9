// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analyze/frame_text.h"
#include "analyze/rank.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/profile_input.h"
#include "cli/selection_options.h"
#include "output/top_table.h"

namespace offcpu::cli {
namespace {

struct TopOptions {
  ProfileInput input;
  SelectionOptions selection;
  std::string by = "place";
  std::string weights = "observed";
  uint32_t limit = 20;
};

analyze::RankBy ParseBy(const std::string& name) {
  const auto& names = analyze::kRankNames;
  return static_cast<analyze::RankBy>(std::find(names.begin(), names.end(), name) - names.begin());
}

Result<int> RunTop(const TopOptions& options) {
  Result<analyze::Selection> selection = MakeSelection(options.selection);
  if (!selection) return selection.error();
  Result<profile::Profile> profile = ReadInput(options.input);
  if (!profile) return profile.error();
  const std::vector<std::string> texts = analyze::FrameTexts(*profile);
  Result<analyze::Filter> filter = analyze::Filter::Create(*profile, texts, *selection);
  if (!filter) return filter.error();
  const analyze::Ranking ranking =
      Rank(*profile, texts, *filter, ParseBy(options.by), ParseWeights(options.weights));

  const std::string& format = options.input.format;
  const std::string result = format == "json"  ? output::TopJson(*profile, ranking, options.limit)
                             : format == "csv" ? output::TopCsv(*profile, ranking, options.limit)
                                               : output::TopText(*profile, ranking, options.limit);
  if (Result<void> written = WriteResult(options.input, result); !written) return written.error();
  // Text and JSON tell by themselves what is not in them, but for why nothing is.
  if (format == "csv" || ranking.kept.ns == 0) {
    LogInfo(DescribeSelection(*profile, ranking.kept, ranking.filtered));
  }
  return kExitDone;
}

}  // namespace

Command AddTop(CLI::App& app) {
  CLI::App* command = app.add_subcommand("top", "Ranked table of where threads wait");
  auto options = std::make_shared<TopOptions>();
  AddProfileInput(*command, options->input, {"text", "json", "csv"});
  command->add_option("--by", options->by, "What a row is")
      ->check(CLI::IsMember(
          std::vector<std::string>(analyze::kRankNames.begin(), analyze::kRankNames.end())))
      ->type_name("WORD")
      ->capture_default_str()
      ->group("Ranking");
  command->add_option("--limit", options->limit, "Rows to show")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N")
      ->capture_default_str()
      ->group("Ranking");
  AddWeightsOption(*command, options->weights);
  AddSelectionOptions(*command, options->selection);
  return {command, [options] { return RunTop(*options); }};
}

}  // namespace offcpu::cli
