// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <memory>
#include <string>

#include <fmt/format.h>

#include "base/log.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/profile_input.h"
#include "cli/profile_slice.h"
#include "cli/selection_options.h"
#include "output/flame_slice.h"
#include "output/flamegraph.h"

namespace offcpu::cli {
namespace {

struct FlamegraphCommand {
  ProfileInput input;
  SelectionOptions selection;
  SliceArguments slice;
  std::string title;
  std::string color = "kind";
  double min_width_px = 0.1;
  bool inverted = false;
};

// Fills in where to write; a picture on a terminal helps nobody who did not ask for it.
Result<void> ChooseOutput(ProfileInput& input) {
  if (input.output.empty()) {
    if (::isatty(STDOUT_FILENO) == 1) {
      return UsageError(
          "standard output is a terminal; name a file with -o FILE.svg or -o FILE.html");
    }
    input.output = "-";
  }
  if (input.output == "-" || input.output.ends_with(".svg") || input.output.ends_with(".html")) {
    return {};
  }
  return UsageError("-o " + input.output + ": the name must end in .svg or .html");
}

Result<int> RunFlamegraph(const FlamegraphCommand& command) {
  ProfileInput input = command.input;
  if (Result<void> chosen = ChooseOutput(input); !chosen) return chosen.error();
  Result<ProfileSlice> read = ReadSlice(input, command.selection, command.slice);
  if (!read) return read.error();
  const output::FlameTree tree = output::TreeOfSlice(read->slice);
  output::FlamegraphOptions options =
      output::DescribeSlice(read->profile, read->slice, read->options);
  if (!command.title.empty()) options.title = command.title;
  options.colors =
      command.color == "reason" ? output::FlameColors::kReason : output::FlameColors::kKind;
  options.inverted = command.inverted;
  options.min_width_px = command.min_width_px;

  const std::string result = input.output.ends_with(".html")
                                 ? output::RenderFlamegraphHtml(tree, options)
                                 : output::RenderFlamegraphSvg(tree, options);
  if (Result<void> written = WriteResult(input, result); !written) return written.error();
  LogInfo(fmt::format("{}: {}", input.output == "-" ? "flame graph" : input.output,
                      DescribeSelection(read->profile, read->slice.kept, read->slice.filtered)));
  return kExitDone;
}

}  // namespace

Command AddFlamegraph(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("flamegraph", "Flame graph: one self-contained SVG or HTML file");
  auto options = std::make_shared<FlamegraphCommand>();
  options->input.output.clear();  // not given
  AddProfileInput(*command, options->input, {});
  command->get_option("--output")
      ->description("Write FILE.svg or FILE.html; - is SVG on standard output");
  command->add_option("--title", options->title, "Title of the picture")
      ->type_name("TEXT")
      ->group("Picture");
  command->add_option("--color", options->color, "What colours mean: kind or reason")
      ->check(CLI::IsMember({"kind", "reason"}))
      ->type_name("WORD")
      ->capture_default_str()
      ->group("Picture");
  command->add_flag("--inverted", options->inverted, "The root on top, callees below")
      ->group("Picture");
  command->add_option("--min-width", options->min_width_px, "Leave out narrower frames")
      ->check(CLI::Range(0.0, 1000.0))
      ->type_name("PX")
      ->capture_default_str()
      ->group("Picture");
  AddSelectionOptions(*command, options->selection);
  AddSliceOptions(*command, options->slice);
  return {command, [options] { return RunFlamegraph(*options); }};
}

}  // namespace offcpu::cli
