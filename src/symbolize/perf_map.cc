// SPDX-License-Identifier: MIT
#include "symbolize/perf_map.h"

#include <sys/stat.h>

#include <algorithm>
#include <vector>

#include "base/files.h"
#include "base/parse.h"
#include "symbolize/open_file.h"

namespace offcpu::symbolize {
namespace {

constexpr uint64_t kMaxFile = 64U << 20;
constexpr size_t kMaxRanges = 1U << 19;
constexpr size_t kMaxName = 16384;
constexpr size_t kRemembered = 128;

// The hex number that `text` begins with, and the blanks behind it.
bool TakeHex(std::string_view* text, uint64_t* value) {
  const size_t end = std::min(text->find_first_of(" \t"), text->size());
  std::string_view word = text->substr(0, end);
  if (word.starts_with("0x") || word.starts_with("0X")) word.remove_prefix(2);
  text->remove_prefix(std::min(text->find_first_not_of(" \t", end), text->size()));
  return ParseNumber(word, value, 16);
}

}  // namespace

bool PerfMap::EarlierPartChanged(int fd, uint64_t size) const {
  if (size < parsed_) return true;
  std::string before(last_parsed_.size(), '\0');
  if (!ReadExactly(fd, before.data(), before.size(), parsed_ - before.size())) return true;
  return before != last_parsed_;
}

Result<void> PerfMap::Update(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return SystemError("stat perf map");
  const auto size = static_cast<uint64_t>(status.st_size);
  if (EarlierPartChanged(fd, size)) *this = PerfMap();
  if (size > kMaxFile) full_ = true;

  const uint64_t end = std::min(size, kMaxFile);
  std::string text(end > parsed_ ? end - parsed_ : 0, '\0');
  if (auto read = ReadExactly(fd, text.data(), text.size(), parsed_); !read) return read.error();
  Append(text);
  // A line that isn't whole yet is read again with its rest, which then wins.
  const size_t whole = text.rfind('\n') + 1;
  parsed_ += whole;
  if (whole == 0) return {};
  const size_t remembered = std::min(whole, kRemembered);
  last_parsed_ = text.substr(whole - remembered, remembered);
  return {};
}

void PerfMap::Append(std::string_view text) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    AddLine(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void PerfMap::AddLine(std::string_view line) {
  uint64_t begin = 0;
  uint64_t size = 0;
  uint64_t end = 0;
  if (!TakeHex(&line, &begin) || !TakeHex(&line, &size) || size == 0) return;
  if (__builtin_add_overflow(begin, size, &end)) return;
  const std::string_view name = Trim(line).substr(0, kMaxName);
  if (!name.empty()) Insert(begin, end, name);
}

void PerfMap::Insert(uint64_t begin, uint64_t end, std::string_view name) {
  if (ranges_.size() >= kMaxRanges || names_.size() > kMaxFile) {
    full_ = true;
    return;
  }
  auto next = ranges_.lower_bound(begin);
  if (next != ranges_.begin()) {
    Code& before = std::prev(next)->second;
    if (before.end > end) ranges_.emplace(end, before);  // the new code lies inside
    before.end = std::min(before.end, begin);
  }
  while (next != ranges_.end() && next->first < end) {
    const Code covered = next->second;
    next = ranges_.erase(next);
    if (covered.end > end) {
      ranges_.emplace(end, covered);
      break;
    }
  }
  ranges_.insert_or_assign(begin, Code{end, names_.size(), name.size()});
  names_.append(name);
}

std::string_view PerfMap::Find(uint64_t address) const {
  auto next = ranges_.upper_bound(address);
  if (next == ranges_.begin()) return {};
  const Code& code = std::prev(next)->second;
  if (address >= code.end) return {};
  return std::string_view(names_).substr(code.name, code.length);
}

}  // namespace offcpu::symbolize
