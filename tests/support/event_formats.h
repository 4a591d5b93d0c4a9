// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace offcpu::test {

// The text of a format file in kernel-compat/data; empty, which no parser takes, when it is
// missing.
inline std::string FixtureFormat(const std::string& kernel, const std::string& event) {
  return ReadSmallFile("kernel-compat/data/" + kernel + "/events/" + event + "/format")
      .value_or("");
}

// Where real formats lie, for tests that skip without them.
inline std::filesystem::path RealFormats() {
  const char* data = std::getenv("OFFCPU_TEST_DATA");
  return std::filesystem::path(data != nullptr ? data : "../shared/data") / "tracefs-format";
}

// `text` with the first `from` replaced by `to`; empty where there is no `from`.
inline std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  if (at == std::string::npos) return {};
  return text.replace(at, from.size(), to);
}

// A raw record written field by field at offsets of the test's own; the rest is 0xaa, so that what
// is read from a wrong place shows.
class RawRecord {
 public:
  explicit RawRecord(size_t size) : bytes_(size, std::byte{0xaa}) {}

  template <class T>
  RawRecord& Put(size_t offset, T value) {
    std::memcpy(bytes_.data() + offset, &value, sizeof(value));
    return *this;
  }
  RawRecord& PutText(size_t offset, std::string_view text) {
    std::memcpy(bytes_.data() + offset, text.data(), text.size());
    return Put(offset + text.size(), '\0');
  }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace offcpu::test
