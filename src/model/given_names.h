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
  // A recording with more distinct frames is made up: further ones are not kept, and all get the
  // number of a marker.
  static constexpr size_t kMost = 100'000;

  // The same number for equal frames.
  uint64_t NumberOf(const SymbolFrame& frame) {
    const std::lock_guard lock(mutex_);
    if (frames_.size() >= kMost) return NumberOfKept(frame);
    auto key = std::make_pair(frame.name, frame.module);
    const auto [place, is_new] =
        numbers_[frame.inlined].try_emplace(std::move(key), frames_.size());
    if (is_new) frames_.push_back(frame);
    return kFirst + place->second;
  }

  std::optional<SymbolFrame> Find(uint64_t number) const {
    if (number == kNotKept) return SymbolFrame{FrameKind::kMarker, false, "[name not kept]", ""};
    const std::lock_guard lock(mutex_);
    if (number < kFirst || number - kFirst >= frames_.size()) return std::nullopt;
    return frames_[number - kFirst];
  }

  // How often a frame was not kept.
  uint64_t not_kept() const {
    const std::lock_guard lock(mutex_);
    return not_kept_;
  }

 private:
  static constexpr uint64_t kFirst = 4096;  // not taken for a small number that went astray
  static constexpr uint64_t kNotKept = kFirst - 1;

  uint64_t NumberOfKept(const SymbolFrame& frame) {
    const auto& numbers = numbers_[frame.inlined];
    const auto place = numbers.find(std::make_pair(frame.name, frame.module));
    if (place != numbers.end()) return kFirst + place->second;
    ++not_kept_;
    return kNotKept;
  }

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, uint64_t> numbers_[2];  // by `inlined`
  std::vector<SymbolFrame> frames_;
  uint64_t not_kept_ = 0;
};

}  // namespace offcpu::model
