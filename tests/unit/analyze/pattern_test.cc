// SPDX-License-Identifier: MIT
#include "analyze/pattern.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <utility>

namespace offcpu::analyze {
namespace {

bool Matches(std::string_view pattern, std::string_view subject) {
  Result<Pattern> compiled = Pattern::Compile(pattern);
  EXPECT_TRUE(compiled) << pattern;
  if (!compiled) return false;
  Result<bool> matches = compiled->Matches(subject);
  EXPECT_TRUE(matches) << subject;
  return matches && *matches;
}

// A file with this content, removed at the end.
class PatternFile {
 public:
  explicit PatternFile(std::string_view content) {
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~PatternFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = ::testing::TempDir() + "offcpu-pattern-test";
};

TEST(Pattern, IsSearchedForAnywhereInTheText) {
  EXPECT_TRUE(Matches("poll", "ep_poll_[k]"));
  EXPECT_FALSE(Matches("^poll", "ep_poll_[k]"));
  EXPECT_TRUE(Matches("_\\[k\\]$", "ep_poll_[k]"));
  EXPECT_TRUE(Matches("", ""));
}

TEST(Pattern, KnowsUnicodeClassesAndLookAround) {
  EXPECT_TRUE(Matches("^\\p{L}+$", "gr\xc3\xbc\xc3\x9f"));
  EXPECT_FALSE(Matches("read(?!ahead)", "readahead"));
  EXPECT_TRUE(Matches("^.$", "\xf0\x9f\x98\x80"));
}

TEST(Pattern, MatchesBesideBytesThatAreNoUtf8) {
  EXPECT_TRUE(Matches("main", "\xff\xfe main \xc3"));
  EXPECT_FALSE(Matches("a.b",
                       "a\xff"
                       "b"));
  EXPECT_TRUE(Matches("b", std::string_view("a\0b", 3)));
}

TEST(Pattern, TellsWhatIsWrongAndWhere) {
  const auto pattern = Pattern::Compile("a(b");
  ASSERT_FALSE(pattern);
  EXPECT_EQ(pattern.error().code, ErrorCode::kUsage);
  EXPECT_EQ(pattern.error().message, "pattern 'a(b': missing closing parenthesis (at character 3)");
  EXPECT_FALSE(Pattern::Compile("\xff"));
}

TEST(Pattern, GivesUpWithAnErrorInsteadOfHanging) {
  const auto pattern = Pattern::Compile("^(a|aa)+$");
  ASSERT_TRUE(pattern);
  const auto matches = pattern->Matches(std::string(100, 'a') + 'b');
  ASSERT_FALSE(matches);
  EXPECT_EQ(matches.error().code, ErrorCode::kUsage);
  EXPECT_NE(matches.error().message.find("'^(a|aa)+$'"), std::string::npos);
}

TEST(PatternFile, HasOnePatternALineAndComments) {
  const PatternFile file("# first\n\n a b \r\n\\#hash\nlast");
  const auto patterns = ReadPatternFile(file.path());
  ASSERT_TRUE(patterns);
  ASSERT_EQ(patterns->size(), 3);
  EXPECT_EQ((*patterns)[0].text(), " a b ");
  EXPECT_EQ((*patterns)[2].text(), "last");
  EXPECT_TRUE(AnyMatches(*patterns, "#hash").value_or(false));
  EXPECT_FALSE(AnyMatches(*patterns, "a b").value_or(true));
}

TEST(PatternFile, WithoutAPatternIsRefused) {
  const PatternFile file("# nothing\n\n");
  const auto patterns = ReadPatternFile(file.path());
  ASSERT_FALSE(patterns);
  EXPECT_EQ(patterns.error().code, ErrorCode::kUsage);
}

TEST(PatternFile, NamesTheLineOfABadPattern) {
  const PatternFile file("good\n# fine\n[bad\n");
  const auto patterns = ReadPatternFile(file.path());
  ASSERT_FALSE(patterns);
  EXPECT_TRUE(patterns.error().message.starts_with(file.path() + ":3: pattern '[bad'"));
}

TEST(PatternFile, ThatIsMissingIsAnError) {
  EXPECT_FALSE(ReadPatternFile(::testing::TempDir() + "offcpu-no-such-file"));
}

}  // namespace
}  // namespace offcpu::analyze
