// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/check.h"
#include "model/ids.h"

namespace offcpu::sched {

// From tid to a small value, 0 when unset. Two look-ups in memory that grows in pages of ids, no
// hashing: it is asked twice for every context switch.
class TidMap {
 public:
  uint32_t Get(model::Tid tid) const {
    const size_t page = Index(tid) / kPageSize;
    if (page >= pages_.size() || !pages_[page]) return 0;
    return (*pages_[page])[Index(tid) % kPageSize];
  }

  void Set(model::Tid tid, uint32_t value) {
    OFFCPU_CHECK(model::IsPossibleTid(tid));
    const size_t page = Index(tid) / kPageSize;
    if (page >= pages_.size()) pages_.resize(page + 1);
    if (!pages_[page]) pages_[page] = std::make_unique<Page>();
    (*pages_[page])[Index(tid) % kPageSize] = value;
  }

 private:
  static constexpr size_t kPageSize = 1024;
  using Page = std::array<uint32_t, kPageSize>;

  static size_t Index(model::Tid tid) { return static_cast<size_t>(static_cast<uint32_t>(tid)); }

  std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace offcpu::sched
