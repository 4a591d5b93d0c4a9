// SPDX-License-Identifier: MIT
#include "tests/support/xml_checker.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <set>
#include <vector>

namespace offcpu::testing {
namespace {

// The character at the front of `text` and its size; a code of 0 where there is none.
uint32_t DecodeAt(std::string_view text, size_t* size) {
  const auto byte = [&text](size_t i) {
    return i < text.size() ? static_cast<uint8_t>(text[i]) : uint8_t{0};
  };
  const auto more = [&byte](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const uint32_t lead = byte(0);
  uint32_t code = 0;
  *size = 1;
  if (lead < 0x80) return lead;
  if (lead < 0xe0 && more(1)) {
    code = (lead & 0x1f) << 6 | (byte(1) & 0x3fU);
    *size = 2;
    return code >= 0x80 ? code : 0;
  }
  if (lead >= 0xe0 && lead < 0xf0 && more(1) && more(2)) {
    code = (lead & 0x0f) << 12 | (byte(1) & 0x3fU) << 6 | (byte(2) & 0x3fU);
    *size = 3;
    return code >= 0x800 ? code : 0;
  }
  if (lead >= 0xf0 && lead < 0xf8 && more(1) && more(2) && more(3)) {
    code =
        (lead & 0x07) << 18 | (byte(1) & 0x3fU) << 12 | (byte(2) & 0x3fU) << 6 | (byte(3) & 0x3fU);
    *size = 4;
    return code >= 0x10000 ? code : 0;
  }
  return 0;
}

bool IsXmlChar(uint32_t code) {  // production [2]
  return code == 0x9 || code == 0xa || code == 0xd || (code >= 0x20 && code <= 0xd7ff) ||
         (code >= 0xe000 && code <= 0xfffd) || (code >= 0x10000 && code <= 0x10ffff);
}

class Checker {
 public:
  explicit Checker(std::string_view text) : text_(text) {}

  std::string Check() {
    CheckCharacters();
    if (text_.starts_with("<?xml ")) at_ = text_.find("?>") + 2;
    while (fault_.empty() && at_ < text_.size()) {
      if (text_[at_] != '<') {
        Text();
      } else if (text_.substr(at_).starts_with("<![CDATA[")) {
        const size_t end = text_.find("]]>", at_);
        if (open_.empty() || end == std::string_view::npos) return "stray CDATA";
        at_ = end + 3;
      } else {
        Tag();
      }
    }
    if (fault_.empty() && !open_.empty()) fault_ = "not closed: " + std::string(open_.back());
    if (fault_.empty() && roots_ != 1) fault_ = "not one root element";
    return fault_;
  }

 private:
  void Fail(std::string what) {
    if (fault_.empty()) fault_ = what + " near \"" + std::string(text_.substr(at_, 60)) + '"';
  }

  void CheckCharacters() {
    size_t size = 0;
    for (size_t i = 0; i < text_.size(); i += size) {
      if (IsXmlChar(DecodeAt(text_.substr(i), &size))) continue;
      at_ = i;
      return Fail("not an XML character");
    }
  }

  void Entity(size_t at) {
    const size_t end = text_.find(';', at);
    const std::string_view name = text_.substr(at + 1, end - at - 1);
    static const std::set<std::string_view> kNames{"amp", "lt", "gt", "quot", "apos", "#39"};
    if (end == std::string_view::npos || !kNames.contains(name)) Fail("unknown entity");
  }

  void Text() {
    const size_t end = std::min(text_.find('<', at_), text_.size());
    for (size_t i = at_; i < end; ++i) {
      if (text_[i] == '&') Entity(i);
      if (open_.empty() && std::isspace(static_cast<uint8_t>(text_[i])) == 0) Fail("text outside");
    }
    if (text_.substr(at_, end - at_).find("]]>") != std::string_view::npos) Fail("]]> in text");
    at_ = end;
  }

  std::string_view Name() {
    const size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<uint8_t>(text_[at_])) != 0 || text_[at_] == '-')) {
      ++at_;
    }
    if (at_ == begin) Fail("no name");
    return text_.substr(begin, at_ - begin);
  }

  bool Take(std::string_view token) {
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  void Tag() {
    if (Take("</")) {
      if (open_.empty() || Name() != open_.back() || !Take(">")) return Fail("wrong end tag");
      return open_.pop_back();
    }
    Take("<");
    const std::string_view name = Name();
    std::set<std::string_view> attributes;
    while (fault_.empty() && Take(" ")) {
      if (!attributes.insert(Name()).second) Fail("attribute given twice");
      if (!Take("=\"")) return Fail("attribute without a quoted value");
      for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
        if (text_[at_] == '<') return Fail("< in an attribute");
        if (text_[at_] == '&') Entity(at_);
      }
      if (!Take("\"")) return Fail("attribute without an end");
    }
    if (open_.empty()) ++roots_;
    if (Take("/>")) return;
    if (!Take(">")) return Fail("tag without an end");
    open_.push_back(name);
  }

  std::string_view text_;
  size_t at_ = 0;
  std::vector<std::string_view> open_;
  int roots_ = 0;
  std::string fault_;
};

}  // namespace

std::string XmlFault(std::string_view text) { return Checker(text).Check(); }

}  // namespace offcpu::testing
