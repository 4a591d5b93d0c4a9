// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace offcpu::symbolize {

// What a just-in-time compiler wrote about its code: lines "START SIZE NAME", the numbers in hex
// with or without 0x. Code moves and its addresses are used again, so a later line wins over an
// earlier one, also where they overlap only in part. Lines that make no sense are skipped.
class PerfMap {
 public:
  // Reads what `fd` has beyond what was read from it before; all of it anew when its earlier part
  // changed. An error leaves what was known before.
  Result<void> Update(int fd);

  // Takes text as if it stood at the end of the file; the last line may lack its newline.
  void Append(std::string_view text);

  // The name of the code at `address`; empty: none. Lives until the next change.
  std::string_view Find(uint64_t address) const;

  size_t size() const { return ranges_.size(); }
  bool full() const { return full_; }  // a bound was reached, later lines are missing

 private:
  struct Code {
    uint64_t end;
    size_t name;  // position in names_
    size_t length;
  };

  void AddLine(std::string_view line);
  void Insert(uint64_t begin, uint64_t end, std::string_view name);
  bool EarlierPartChanged(int fd, uint64_t size) const;

  std::map<uint64_t, Code> ranges_;  // by begin; they don't overlap
  std::string names_;
  uint64_t parsed_ = 0;      // bytes of the file behind which all lines are still to come
  std::string last_parsed_;  // the bytes before that
  bool full_ = false;
};

}  // namespace offcpu::symbolize
