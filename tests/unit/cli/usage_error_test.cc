// SPDX-License-Identifier: MIT
#include "cli/usage_error.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace offcpu::cli {
namespace {

// What a user of a command with a few typical options is told about `arguments`; empty: no error.
std::string Complaint(std::vector<std::string> arguments) {
  CLI::App app("test", "offcpu");
  CLI::App* top = app.add_subcommand("top", "ranked table");
  std::string format, file;
  int depth = 0;
  top->add_option("--format", format, "")->check(CLI::IsMember({"text", "json"}));
  top->add_option("--max-stack", depth, "");
  CLI::Option* all = top->add_flag("--all");
  top->add_flag("--none")->excludes(all);
  top->add_option("FILE", file, "")->required();
  std::reverse(arguments.begin(), arguments.end());  // as App::parse(vector) takes them
  arguments.emplace_back("top");
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return DescribeUsageError(app, error);
  }
  return "";
}

TEST(UsageErrorTest, RightUsageIsNoError) {
  EXPECT_EQ(Complaint({"--format", "json", "--max-stack", "3", "file"}), "");
}

TEST(UsageErrorTest, UnknownOptionIsNamed) {
  EXPECT_EQ(Complaint({"--fromat", "json", "file"}), "unknown option '--fromat'");
}

TEST(UsageErrorTest, UnknownOptionIsNamedAlsoWhenSomethingElseIsMissing) {
  EXPECT_EQ(Complaint({"--fromat", "json"}), "unknown option '--fromat'");
}

TEST(UsageErrorTest, ArgumentThatNothingTakesIsNamed) {
  EXPECT_EQ(Complaint({"file", "other"}), "unexpected argument 'other'");
}

TEST(UsageErrorTest, ValueOutsideAListIsNamedWithTheList) {
  EXPECT_EQ(Complaint({"--format", "xml", "file"}), "--format: 'xml' is not one of text, json");
}

TEST(UsageErrorTest, ValueThatLooksLikeTheMessageItselfIsQuotedWhole) {
  EXPECT_EQ(Complaint({"--format", "a not in {b}", "file"}),
            "--format: 'a not in {b}' is not one of text, json");
}

TEST(UsageErrorTest, ValueThatIsNoNumberIsNamed) {
  EXPECT_EQ(Complaint({"--max-stack", "deep", "file"}),
            "--max-stack: 'deep' is not a number in range");
}

TEST(UsageErrorTest, OptionWithoutItsValueIsNamed) {
  EXPECT_EQ(Complaint({"file", "--format"}), "--format needs a value");
}

TEST(UsageErrorTest, OptionsThatExcludeEachOtherAreBothNamed) {
  EXPECT_EQ(Complaint({"--none", "--all", "file"}), "--all and --none can't be used together");
}

TEST(UsageErrorTest, MissingArgumentIsNamed) { EXPECT_EQ(Complaint({}), "FILE is required"); }

TEST(UsageErrorTest, MessageStaysOneLineWhateverTheArgumentIs) {
  EXPECT_EQ(Complaint({"file", "a\nb\x1b[2J"}), "unexpected argument 'a?b?[2J'");
}

}  // namespace
}  // namespace offcpu::cli
