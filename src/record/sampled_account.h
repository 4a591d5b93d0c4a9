// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "base/clock.h"
#include "process/thread_counters.h"

namespace offcpu::record {

// The account of one thread from looks at its counters (law 1). Run time and waits for a CPU are
// what the counters grew by; the rest of the time between the looks it slept. Counters of a thread
// that is on the CPU or waits for it lag: what they may have missed is unknown, not sleep.
//
///   looks      |    |    |    |         |
///   thread     ====..===...~~~====......      = runs  . sleeps  ~ waits for a CPU
class SampledAccount {
 public:
  struct Totals {
    Nanos first = 0;
    Nanos last = 0;
    Nanos on_cpu = 0;
    Nanos waiting = 0;
    Nanos sleeping = 0;
    Nanos unknown = 0;  // on_cpu + waiting + sleeping + unknown = last - first
    uint64_t switch_ins = 0;
  };

  // `asleep`: it is off the CPU and not runnable, so its counters are exact.
  void Look(Nanos time, const process::SchedStat& counters, bool asleep);
  // Before the first look: the thread was born at about this time, with counters of zero.
  void SetBorn(Nanos time) { born_ = time; }

  // Whether the counters hold for the time of the last look: it sleeps, or they grew at the look.
  bool settled() const { return settled_ && (asleep_ || grew_); }

  // `left_to_wait`: it gave up the CPU in a waiting state meanwhile. Without that, and never found
  // asleep, it did not sleep: what the counters leave then is unknown (the hypervisor's, mostly).
  Totals Finish(bool left_to_wait) const;

 private:
  void FirstLook(Nanos time, const process::SchedStat& counters, bool asleep);

  std::optional<Nanos> born_;
  Totals sum_;
  process::SchedStat counters_;
  bool looked_ = false;
  bool settled_ = false;  // growth counts from here on
  bool asleep_ = false;   // at the last look
  bool ever_asleep_ = false;
  bool grew_ = false;   // at the last look
  Nanos lag_from_ = 0;  // the counters hold for a moment after this
};

}  // namespace offcpu::record
