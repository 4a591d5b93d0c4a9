// SPDX-License-Identifier: MIT
#include "analyze/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <utility>

#include "base/files.h"

namespace offcpu::analyze {
namespace {

// Steps and depth of one search. Honest patterns need a few hundred on a long C++ name.
constexpr uint32_t kMatchLimit = 200'000;

std::string LibraryMessage(int code) {
  PCRE2_UCHAR text[256];
  if (pcre2_get_error_message(code, text, sizeof(text)) < 0) return "error " + std::to_string(code);
  return reinterpret_cast<const char*>(text);
}

}  // namespace

struct Pattern::Compiled {
  pcre2_code* code = nullptr;
  pcre2_match_data* match = nullptr;
  pcre2_match_context* context = nullptr;

  Compiled() = default;
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() {
    pcre2_match_context_free(context);
    pcre2_match_data_free(match);
    pcre2_code_free(code);
  }
};

Pattern::Pattern() = default;
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

Result<Pattern> Pattern::Compile(std::string_view text) {
  constexpr uint32_t kOptions =
      PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C;
  Pattern pattern;
  pattern.text_ = text;
  pattern.compiled_ = std::make_unique<Compiled>();
  Compiled& compiled = *pattern.compiled_;
  int error = 0;
  PCRE2_SIZE position = 0;
  compiled.code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), kOptions,
                                &error, &position, nullptr);
  if (compiled.code == nullptr) {
    return UsageError("pattern '" + pattern.text_ + "': " + LibraryMessage(error) +
                      " (at character " + std::to_string(position) + ")");
  }
  compiled.match = pcre2_match_data_create(1, nullptr);
  compiled.context = pcre2_match_context_create(nullptr);
  if (compiled.match == nullptr || compiled.context == nullptr) {
    return Failed("pattern '" + pattern.text_ + "': out of memory");
  }
  pcre2_set_match_limit(compiled.context, kMatchLimit);
  pcre2_set_depth_limit(compiled.context, kMatchLimit);
  return pattern;
}

Result<bool> Pattern::Matches(std::string_view subject) const {
  const int found = pcre2_match(compiled_->code, reinterpret_cast<PCRE2_SPTR>(subject.data()),
                                subject.size(), 0, 0, compiled_->match, compiled_->context);
  if (found >= 0) return true;
  if (found == PCRE2_ERROR_NOMATCH) return false;
  return UsageError("pattern '" + text_ + "': " + LibraryMessage(found),
                    "write it without nested repetitions, or anchor it with ^");
}

Result<std::vector<Pattern>> ReadPatternFile(const std::string& path) {
  Result<std::string> text = ReadSmallFile(path);
  if (!text) return text.error();
  std::vector<Pattern> patterns;
  size_t number = 0;
  for (std::string_view line : Split(*text, '\n')) {
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    Result<Pattern> pattern = Pattern::Compile(line);
    if (!pattern) {
      return UsageError(path + ":" + std::to_string(number) + ": " + pattern.error().message);
    }
    patterns.push_back(std::move(*pattern));
  }
  if (patterns.empty()) {
    return UsageError(path + ": no pattern in this file", "write one pattern a line");
  }
  return patterns;
}

Result<bool> AnyMatches(const std::vector<Pattern>& patterns, std::string_view subject) {
  for (const Pattern& pattern : patterns) {
    Result<bool> matches = pattern.Matches(subject);
    if (!matches || *matches) return matches;
  }
  return false;
}

}  // namespace offcpu::analyze
