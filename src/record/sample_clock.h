// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <random>

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace offcpu::record {

// When to look: once in each period, at a moment of it that is drawn by chance, so that a thread
// that works in step with the period is not seen at the same point of its work each time.
class SampleClock {
 public:
  explicit SampleClock(uint32_t hz) : period_(kNanosPerSecond / hz), random_(hz) {}

  Result<void> Start(Nanos begin);
  int fd() const { return fd_.get(); }
  // True when a moment has come. The next is set; periods that passed meanwhile are missed, and
  // are not made up for.
  bool Take(Nanos now);
  uint64_t missed() const { return missed_; }

 private:
  void Arm(Nanos earliest);

  const Nanos period_;
  std::minstd_rand random_;
  UniqueFd fd_;
  Nanos begin_ = 0;
  uint64_t number_ = 0;  // of the period that is waited for
  uint64_t missed_ = 0;
};

}  // namespace offcpu::record
