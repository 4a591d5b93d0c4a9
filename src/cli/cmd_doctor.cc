// SPDX-License-Identifier: MIT
#include <sys/utsname.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/files.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "output/json.h"
#include "output/text_table.h"
#include "source/perf/doctor.h"

namespace offcpu::cli {
namespace {

using source::Check;

constexpr std::string_view kStatusNames[] = {"works", "limited", "missing"};

std::string_view StatusName(Check::Status status) {
  return kStatusNames[static_cast<size_t>(status)];
}

std::string KernelRelease() {
  utsname name{};
  return ::uname(&name) == 0 ? name.release : "unknown";
}

// What is needed and missing decides over the whole.
const Check* FirstMissing(const std::vector<Check>& checks) {
  for (const Check& check : checks) {
    if (check.needed && check.status == Check::Status::kMissing) return &check;
  }
  return nullptr;
}

std::string DoctorText(const std::vector<Check>& checks) {
  using Align = output::TextTable::Align;
  output::TextTable table(
      {{"CHECK", Align::kLeft}, {"STATUS", Align::kLeft}, {"FOUND", Align::kLeft}});
  std::string remedies;
  for (const Check& check : checks) {
    table.AddRow({check.name, std::string(StatusName(check.status)), check.found});
    const std::string line = fmt::format("  {}: {}\n", check.name, check.remedy);
    if (!check.remedy.empty()) remedies += line;
  }
  std::string text = fmt::format("Back end perf on Linux {}: {}\n\n", KernelRelease(),
                                 FirstMissing(checks) == nullptr ? "works" : "does not work");
  text += table.Render();
  if (!remedies.empty()) text += "\nWhat to do:\n" + remedies;
  return text + "\nMore: man offcpu-permissions\n";
}

std::string DoctorJson(const std::vector<Check>& checks) {
  output::Json list = output::Json::array();
  for (const Check& check : checks) {
    list.push_back({{"name", check.name},
                    {"status", StatusName(check.status)},
                    {"needed", check.needed},
                    {"found", check.found},
                    {"remedy", check.remedy}});
  }
  output::Json backend;
  backend["name"] = "perf";
  backend["works"] = FirstMissing(checks) == nullptr;
  backend["checks"] = std::move(list);
  output::Json json;
  json["kernel_release"] = KernelRelease();
  json["backends"] = output::Json::array({std::move(backend)});
  return output::JsonDocument(json);
}

Result<int> RunDoctor(const std::string& format) {
  const std::vector<Check> checks = source::perf::CheckPerf();
  auto out = OutputFile::Create("-", /*force=*/false);
  if (!out) return out.error();
  const auto written = out->Write(format == "json" ? DoctorJson(checks) : DoctorText(checks));
  if (!written) return written.error();
  const Check* missing = FirstMissing(checks);
  return missing == nullptr ? int{kExitDone} : ExitCodeFor(missing->code);
}

}  // namespace

Command AddDoctor(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("doctor", "What works here, and what to do about the rest");
  auto format = std::make_shared<std::string>("text");
  command->add_option("--format", *format, "Form of the result")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORMAT")
      ->capture_default_str()
      ->group("Output");
  return {command, [format] { return RunDoctor(*format); }};
}

}  // namespace offcpu::cli
