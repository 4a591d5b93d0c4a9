// SPDX-License-Identifier: MIT
#include <memory>
#include <string>

#include "analyze/slice.h"
#include "base/files.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/profile_input.h"
#include "cli/profile_slice.h"
#include "cli/selection_options.h"
#include "output/collapsed.h"
#include "output/missing.h"
#include "output/slice_json.h"

namespace offcpu::cli {
namespace {

struct StacksOptions {
  ProfileInput input;
  SelectionOptions selection;
  SliceArguments slice;
  std::string unit = "us";
};

// Lines can't say what they lack, so it goes to standard error; JSON has it inside.
void Remark(const StacksOptions& options, const ProfileSlice& read) {
  const analyze::Slice& slice = read.slice;
  const bool text = options.input.format == "text";
  const bool lacks = slice.filtered.intervals > 0 || !output::MissingLine(read.profile).empty();
  if (!slice.lines.empty() && !(text && lacks)) return;
  LogInfo(std::to_string(slice.lines.size()) + " stacks, " +
          DescribeSelection(read.profile, slice.kept, slice.filtered));
}

Result<int> RunStacks(const StacksOptions& options) {
  Result<ProfileSlice> read = ReadSlice(options.input, options.selection, options.slice);
  if (!read) return read.error();
  const output::Unit unit = options.unit == "ns" ? output::Unit::kNanos : output::Unit::kMicros;
  auto file = OutputFile::Create(options.input.output, options.input.force);
  if (!file) return file.error();
  const auto write = [&](std::string_view bytes) { return file->Write(bytes); };
  const auto written =
      options.input.format == "json"
          ? write(output::SliceJson(read->profile, read->slice, read->options))
          : output::WriteCollapsed(read->slice, unit, IsTerminal(options.input), write);
  if (!written) return written.error();
  if (auto committed = file->Commit(); !committed) return committed.error();
  Remark(options, *read);
  return kExitDone;
}

}  // namespace

Command AddStacks(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("stacks", "Collapsed stacks: one line a stack, with its time");
  auto options = std::make_shared<StacksOptions>();
  AddProfileInput(*command, options->input, {"text", "json"});
  command->add_option("--unit", options->unit, "Unit of the lines")
      ->check(CLI::IsMember({"us", "ns"}))
      ->type_name("WORD")
      ->capture_default_str()
      ->group("Output");
  AddSelectionOptions(*command, options->selection);
  AddSliceOptions(*command, options->slice);
  return {command, [options] { return RunStacks(*options); }};
}

}  // namespace offcpu::cli
