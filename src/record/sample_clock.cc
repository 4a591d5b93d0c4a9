// SPDX-License-Identifier: MIT
#include "record/sample_clock.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>

namespace offcpu::record {

Result<void> SampleClock::Start(Nanos begin) {
  fd_ = UniqueFd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!fd_) return SystemError("make a timer");
  begin_ = begin;
  Arm(begin);
  return {};
}

void SampleClock::Arm(Nanos earliest) {
  const Nanos at = std::max(begin_ + number_ * period_ + random_() % period_, earliest + 1);
  itimerspec when{};
  when.it_value.tv_sec = static_cast<time_t>(at / kNanosPerSecond);
  when.it_value.tv_nsec = static_cast<long>(at % kNanosPerSecond);
  ::timerfd_settime(fd_.get(), TFD_TIMER_ABSTIME, &when, nullptr);  // fails for bad values only
}

bool SampleClock::Take(Nanos now) {
  uint64_t expired = 0;
  if (::read(fd_.get(), &expired, sizeof(expired)) != sizeof(expired)) return false;
  const uint64_t now_in = (now - begin_) / period_;
  if (now_in > number_) missed_ += now_in - number_;
  number_ = std::max(number_, now_in) + 1;
  Arm(now);
  return true;
}

}  // namespace offcpu::record
