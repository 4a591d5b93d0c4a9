// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "model/account.h"
#include "model/ids.h"
#include "model/interval.h"
#include "model/sched_event.h"

// What a back end delivers that tracks threads in the kernel. Each thread is handed over with its
// first switch in the window; up to then user space knows it from /proc or its fork. From then on
// come its kept intervals and, once, the account of everything.
namespace offcpu::model {

struct HandOver {
  Nanos time = 0;
  Pid pid = 0;
  Tid tid = 0;
  Nanos wakeup = 0;  // the first one before, since the window's start; 0: none
  enum Before : uint8_t {
    kWasOff,   // it was switched in just then
    kRan,      // up to `time`
    kUnknown,  // it came unseen (KF 0)
  } before = kWasOff;
  bool fresh = false;  // nobody had this id until now
};

struct TrackedInterval {
  Pid pid = 0;
  Tid tid = 0;
  Interval interval;  // without `thread` and stacks
  CallChain chain;    // both stacks
};

// Intervals that were not kept.
struct RejectedIntervals {
  Reason reason = Reason::kUnspecified;
  Rejection cause = Rejection::kReason;
  uint64_t count = 0;
  Nanos ns = 0;
};

struct TrackedAccount {
  Pid pid = 0;
  Tid tid = 0;
  Nanos from = 0;  // the hand-over
  Nanos to = 0;    // the last switch-out, or the end of the window
  bool ended = false;
  Account account;  // its times add up to to - from; `first`, `last`, `life`, `lives` are not set
  uint64_t lost_intervals = 0;    // kept ones that found no way to user space
  Nanos lost_time = 0;            // theirs; a part of account.unknown
  uint64_t hidden_intervals = 0;  // those whose end was hidden (KF 0)
  Nanos hidden_time = 0;          // same
  std::vector<RejectedIntervals> rejected;
};

}  // namespace offcpu::model
