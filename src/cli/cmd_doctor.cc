// SPDX-License-Identifier: MIT
#include <algorithm>
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
#include "source/host.h"
#include "source/select.h"

namespace offcpu::cli {
namespace {

using output::TextTable;
using source::Check;
using source::Gives;

constexpr std::string_view kStatusNames[] = {"works", "limited", "missing"};

std::string_view StatusName(Check::Status status) {
  return kStatusNames[static_cast<size_t>(status)];
}

// A back end with what was tried for it.
struct Examined {
  const source::BackEnd* back_end = nullptr;
  std::vector<Check> checks;

  // What is needed and missing decides over the whole.
  const Check* FirstMissing() const {
    for (const Check& check : checks) {
      if (check.needed && check.status == Check::Status::kMissing) return &check;
    }
    return nullptr;
  }
  bool works() const { return FirstMissing() == nullptr; }
};

struct GiveName {
  bool Gives::*flag;
  const char* name;
};
constexpr GiveName kGiveNames[] = {
    {&Gives::task_state, "task states"},
    {&Gives::preemption, "preemption"},
    {&Gives::kernel_stacks, "kernel stacks"},
    {&Gives::user_stacks, "user stacks"},
    {&Gives::wakeups, "wake-ups"},
};

std::vector<std::string> NamesOf(const Gives& gives, bool given) {
  std::vector<std::string> names;
  for (const GiveName& each : kGiveNames) {
    if (gives.*each.flag == given) names.emplace_back(each.name);
  }
  return names;
}

std::string List(const std::vector<std::string>& names) {
  return names.empty() ? "-" : fmt::format("{}", fmt::join(names, ", "));
}

std::string BackEndTable(const std::vector<Examined>& all) {
  TextTable table({{"BACK END", TextTable::Align::kLeft},
                   {"STATUS", TextTable::Align::kLeft},
                   {"DOES NOT TELL", TextTable::Align::kLeft}});
  for (const Examined& each : all) {
    table.AddRow({std::string(each.back_end->name), each.works() ? "works" : "missing",
                  List(NamesOf(each.back_end->gives, false))});
  }
  return table.Render();
}

std::string CheckTable(const Examined& examined) {
  TextTable table({{"CHECK", TextTable::Align::kLeft},
                   {"STATUS", TextTable::Align::kLeft},
                   {"FOUND", TextTable::Align::kLeft}});
  std::string remedies;
  for (const Check& check : examined.checks) {
    table.AddRow({check.name, std::string(StatusName(check.status)), check.found});
    if (!check.remedy.empty()) remedies += fmt::format("  {}: {}\n", check.name, check.remedy);
  }
  std::string text = fmt::format("\nBack end {}\n{}", examined.back_end->name, table.Render());
  if (!remedies.empty()) text += "What to do\n" + remedies;
  return text;
}

std::string FactTable() {
  TextTable table({{"FACT", TextTable::Align::kLeft}, {"VALUE", TextTable::Align::kLeft}});
  for (const source::HostFact& fact : source::HostFacts()) table.AddRow({fact.name, fact.value});
  return table.Render();
}

std::string DoctorText(const std::vector<Examined>& all, const Examined* best) {
  std::string text = best == nullptr ? "Nothing can be recorded here.\n\n"
                                     : fmt::format("offcpu record would take the back end {}.\n\n",
                                                   best->back_end->name);
  text += BackEndTable(all);
  for (const Examined& each : all) text += CheckTable(each);
  return text + "\nThis machine\n" + FactTable() + "\nMore: man offcpu-permissions\n";
}

output::Json CheckJson(const Check& check) {
  return {{"name", check.name},
          {"status", StatusName(check.status)},
          {"needed", check.needed},
          {"found", check.found},
          {"remedy", check.remedy}};
}

std::string DoctorJson(const std::vector<Examined>& all, const Examined* best) {
  output::Json json;
  json["best"] = best == nullptr ? output::Json() : output::Json(best->back_end->name);
  json["backends"] = output::Json::array();
  for (const Examined& each : all) {
    output::Json backend;
    backend["name"] = each.back_end->name;
    backend["works"] = each.works();
    backend["gives"] = NamesOf(each.back_end->gives, true);
    backend["lacks"] = NamesOf(each.back_end->gives, false);
    backend["checks"] = output::Json::array();
    for (const Check& check : each.checks) backend["checks"].push_back(CheckJson(check));
    json["backends"].push_back(std::move(backend));
  }
  json["facts"] = output::Json::object();
  for (const source::HostFact& fact : source::HostFacts()) json["facts"][fact.name] = fact.value;
  return output::JsonDocument(json);
}

Result<int> RunDoctor(const std::string& format) {
  std::vector<Examined> all;
  for (const source::BackEnd& each : source::BackEnds()) all.push_back({&each, each.check()});
  const auto working = std::ranges::find_if(all, &Examined::works);
  const Examined* best = working == all.end() ? nullptr : &*working;
  auto out = OutputFile::Create("-", /*force=*/false);
  if (!out) return out.error();
  const auto written = out->Write(format == "json" ? DoctorJson(all, best) : DoctorText(all, best));
  if (!written) return written.error();
  return best != nullptr ? int{kExitDone} : ExitCodeFor(all.front().FirstMissing()->code);
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
