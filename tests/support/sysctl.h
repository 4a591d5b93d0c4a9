// SPDX-License-Identifier: MIT
#pragma once

#include <fstream>
#include <string>
#include <string_view>

#include "base/files.h"

namespace offcpu::live {

// A sysctl that has another value while this lives.
class Sysctl {
 public:
  Sysctl(std::string path, const std::string& value) : path_(std::move(path)) {
    before_ = ReadSmallFile(path_).value_or("");
    std::ofstream(path_) << value;
  }
  ~Sysctl() { std::ofstream(path_) << before_; }
  Sysctl(const Sysctl&) = delete;
  Sysctl& operator=(const Sysctl&) = delete;

  bool Has(std::string_view value) const {
    return Trim(ReadSmallFile(path_).value_or("")) == value;
  }

 private:
  std::string path_;
  std::string before_;
};

}  // namespace offcpu::live
