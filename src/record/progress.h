// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace offcpu::record {

// The line on a terminal that tells how far the recording is, rewritten once a second; the
// destructor wipes it.
class Progress {
 public:
  Progress(bool enabled, Nanos start) : enabled_(enabled), start_(start), next_(start) {}
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `what`: the plural of what is counted.
  void Update(Nanos now, uint64_t count, const char* what, uint64_t lost);

 private:
  const bool enabled_;
  const Nanos start_;
  Nanos next_;
  bool shown_ = false;
};

}  // namespace offcpu::record
