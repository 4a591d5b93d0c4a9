// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace offcpu {

// The whole of a small file; /proc and sysfs files too, whose size is not known beforehand. A file
// longer than `limit` bytes is an error.
Result<std::string> ReadSmallFile(const std::string& path, size_t limit = 64U << 20);

// The parts of `text` between `separator`s; a trailing separator makes no empty last part.
std::vector<std::string_view> Split(std::string_view text, char separator);

std::string_view Trim(std::string_view text);

// An output file that appears under its name only when it is whole, by Commit(); otherwise nothing
// is left of it. "-" is standard output.
class OutputFile {
 public:
  // Fails when `path` exists and `force` is false, or when it can't be created.
  static Result<OutputFile> Create(const std::string& path, bool force);

  OutputFile(OutputFile&&) noexcept = default;
  OutputFile& operator=(OutputFile&&) noexcept = default;
  ~OutputFile();

  // A closed pipe on standard output is no error: what nobody reads is dropped (closed_pipe()).
  Result<void> Write(std::string_view bytes);
  Result<void> Commit();
  bool closed_pipe() const { return closed_pipe_; }

 private:
  OutputFile() = default;

  bool LinkTo(const std::string& name) const;

  std::string path_;
  std::string temporary_;  // empty for standard output and once committed
  bool nameless_ = false;  // nothing has the temporary name yet
  UniqueFd fd_;
  bool force_ = false;
  bool closed_pipe_ = false;
};

}  // namespace offcpu
