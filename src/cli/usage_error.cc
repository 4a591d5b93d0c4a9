// SPDX-License-Identifier: MIT
#include "cli/usage_error.h"

#include <algorithm>
#include <vector>

namespace offcpu::cli {
namespace {

std::string Quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

bool IsOption(const std::string& argument) { return argument.size() > 1 && argument[0] == '-'; }

// The first argument that nothing took.
std::string DescribeExtra(const std::vector<std::string>& extras, const std::string& text) {
  if (extras.empty()) return text;
  return (IsOption(extras[0]) ? "unknown option " : "unexpected argument ") + Quoted(extras[0]);
}

// CLI11 looks for what is required before it looks at unknown options, which may be the cause.
std::string DescribeRequired(const std::vector<std::string>& extras, const std::string& text) {
  const bool option = !extras.empty() && IsOption(extras[0]);
  return option ? DescribeExtra(extras, text) : text;
}

// CLI11 (2.1 and later): "--format: xml not in {text,json}" from CLI::IsMember.
std::string DescribeChoice(const std::string& text) {
  const size_t name_end = text.find(": ");
  const size_t value_end = text.rfind(" not in {");
  if (name_end == std::string::npos || value_end == std::string::npos || value_end < name_end + 2 ||
      !text.ends_with('}')) {
    return text;
  }
  const size_t list = value_end + std::string_view(" not in {").size();
  std::string choices;
  for (char c : text.substr(list, text.size() - list - 1)) {
    choices.append(1, c);
    if (c == ',') choices.append(1, ' ');
  }
  return text.substr(0, name_end + 2) +
         Quoted(text.substr(name_end + 2, value_end - name_end - 2)) + " is not one of " + choices;
}

// "Could not convert: --max-stack = abc": a value that is no number.
std::string DescribeConversion(const std::string& text) {
  constexpr std::string_view kStart = "Could not convert: ";
  const size_t equals = text.find(" = ");
  if (!text.starts_with(kStart) || equals == std::string::npos) return text;
  return text.substr(kStart.size(), equals - kStart.size()) + ": " +
         Quoted(text.substr(equals + 3)) + " is not a number in range";
}

// "--duration: 1 required TEXT missing".
std::string DescribeMissingValue(const std::string& text) {
  const size_t name_end = text.find(": 1 required ");
  if (name_end == std::string::npos || !text.ends_with(" missing")) return text;
  return text.substr(0, name_end) + " needs a value";
}

// "--all excludes --pid".
std::string DescribeExclusion(const std::string& text) {
  constexpr std::string_view kVerb = " excludes ";
  const size_t verb = text.find(kVerb);
  if (verb == std::string::npos) return text;
  return text.substr(0, verb) + " and " + text.substr(verb + kVerb.size()) +
         " can't be used together";
}

std::string Describe(const CLI::App& app, const CLI::ParseError& error) {
  const std::string name = error.get_name();
  std::string text = error.what();
  std::vector<std::string> extras = app.remaining(true);
  std::erase(extras, "--");
  // By type where there is one; ExtrasError carries the name of the command in that place.
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) return DescribeExtra(extras, text);
  if (name == "RequiredError") return DescribeRequired(extras, text);
  if (name == "ValidationError") return DescribeChoice(text);
  if (name == "ConversionError") return DescribeConversion(text);
  if (name == "ArgumentMismatch") return DescribeMissingValue(text);
  if (name == "ExcludesError") return DescribeExclusion(text);
  return text;
}

}  // namespace

std::string DescribeUsageError(const CLI::App& app, const CLI::ParseError& error) {
  return OneLine(Describe(app, error));
}

std::string OneLine(std::string_view text) {
  std::string line(text);
  std::replace_if(
      line.begin(), line.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return line;
}

}  // namespace offcpu::cli
