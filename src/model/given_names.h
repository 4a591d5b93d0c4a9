// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/stack.h"

namespace offcpu::model {

// Frames of a recording that has names in place of addresses. Each gets a number that stands for
// its address. One thread adds while another looks up.
class GivenNames {
 public:
  // The same number for equal frames.
  uint64_t NumberOf(const SymbolFrame& frame) {
    const std::lock_guard lock(mutex_);
    auto key = std::make_pair(frame.name, frame.module);
    const auto [place, is_new] =
        numbers_[frame.inlined].try_emplace(std::move(key), frames_.size());
    if (is_new) frames_.push_back(frame);
    return kFirst + place->second;
  }

  std::optional<SymbolFrame> Find(uint64_t number) const {
    const std::lock_guard lock(mutex_);
    if (number < kFirst || number - kFirst >= frames_.size()) return std::nullopt;
    return frames_[number - kFirst];
  }

 private:
  static constexpr uint64_t kFirst = 4096;  // not taken for a small number that went astray

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, uint64_t> numbers_[2];  // by `inlined`
  std::vector<SymbolFrame> frames_;
};

}  // namespace offcpu::model
