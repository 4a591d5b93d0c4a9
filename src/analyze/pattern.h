// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace offcpu::analyze {

// A compiled regular expression (PCRE2 syntax, UTF-8 with Unicode classes). It is searched for
// anywhere in a text; a text may hold bytes that are no UTF-8: nothing matches across those.
class Pattern {
 public:
  // kUsage with the text, the position and the library's words when it is no pattern.
  static Result<Pattern> Compile(std::string_view text);

  // kUsage when the search needs more steps than a name is worth ("(a+)+$").
  Result<bool> Matches(std::string_view subject) const;

  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

  const std::string& text() const { return text_; }

 private:
  struct Compiled;  // PCRE2's objects
  Pattern();

  std::string text_;
  std::unique_ptr<Compiled> compiled_;
};

// The patterns of a file, one a line: empty lines and those that begin with # are skipped ("\#"
// begins a pattern with #), any other line is taken as it is, blanks included. Refused are a file
// without a pattern and, with its line number, a bad one.
Result<std::vector<Pattern>> ReadPatternFile(const std::string& path);

// Whether any matches.
Result<bool> AnyMatches(const std::vector<Pattern>& patterns, std::string_view subject);

}  // namespace offcpu::analyze
