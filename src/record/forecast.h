// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "record/options.h"

namespace offcpu::record {

// Context switches counted by the kernel over a while, without any tracing.
struct SwitchRates {
  Nanos measured = 0;
  double machine = 0;            // a second, of all CPUs (ctxt in /proc/stat)
  std::optional<double> target;  // a second, of the threads that were there at both ends; not
                                 // known for a command that does not run yet
  size_t target_threads = 0;
};

// What a recording with these options would take, without recording.
struct Forecast {
  std::string back_end;
  std::string better;                 // what a better back end would need; may be empty
  std::vector<std::string> warnings;  // what this one can't tell here
  SwitchRates rates;
  bool pays_for_machine = false;  // each switch of the machine costs, not only the target's
  double switch_us = 0;           // added to a switch, at most
  double reader_us = 0;           // CPU time of the reader for a switch, at most
  uint64_t bytes_a_switch = 0;    // through the rings, about
  size_t cpus = 0;

  // Switches a second that are paid for; nothing where the target's are not known.
  std::optional<double> paid_switches() const {
    return pays_for_machine ? std::optional(rates.machine) : rates.target;
  }
};

// Opens the back end and counts for options.duration, or for a second. The errors of a recording.
Result<Forecast> MakeForecast(const Options& options);

}  // namespace offcpu::record
