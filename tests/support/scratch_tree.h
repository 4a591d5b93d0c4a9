// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace offcpu::testing {

// A directory of its own for one test, removed with all that is in it.
class ScratchTree {
 public:
  ScratchTree() : path_(::testing::TempDir() + "offcpu-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) ADD_FAILURE() << "cannot make " << path_;
  }
  ScratchTree(const ScratchTree&) = delete;
  ScratchTree& operator=(const ScratchTree&) = delete;
  ~ScratchTree() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

  // Writes a file, makes its directories, and returns its path.
  std::string Write(std::string_view name, std::string_view text) const {
    return Put(name, text, std::ios::trunc);
  }
  std::string Append(std::string_view name, std::string_view text) const {
    return Put(name, text, std::ios::app);
  }

 private:
  std::string Put(std::string_view name, std::string_view text, std::ios::openmode mode) const {
    const std::string path = *this / name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream out(path, std::ios::binary | mode);
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
    out.close();
    EXPECT_TRUE(out) << path;
    return path;
  }

  std::string path_;
};

// The folder of real recordings; tests skip what is absent there.
inline std::string TestData(std::string_view name) {
  const char* folder = std::getenv("OFFCPU_TEST_DATA");
  return std::string(folder == nullptr ? "../shared/data" : folder) + "/" + std::string(name);
}

}  // namespace offcpu::testing
