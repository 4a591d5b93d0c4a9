// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/ids.h"

struct tracefs_instance;  // of libtracefs

namespace offcpu::source::tracefs {

// A tracefs instance of our own, with buffers, clock and events apart from all others'; made by
// Create and removed by the destructor. Nothing outside of it is written to.
//
// Its name, offcpu-PID-START, says which process made it and when that began (in clock ticks since
// the boot, /proc/PID/stat), so that what a killed one left behind can be told from what is in use.
class Instance {
 public:
  // kPermission where tracefs may be read but not written to.
  static Result<Instance> Create();

  Instance(Instance&&) noexcept = default;
  Instance& operator=(Instance&&) noexcept = default;

  // Files are named from the instance's directory on ("events/sched/sched_switch/enable").
  Result<void> Write(const std::string& file, const std::string& text) const;
  Result<std::string> Read(const std::string& file) const;
  bool Has(const std::string& file) const;
  std::string PathOf(const std::string& file) const;

  const std::string& name() const { return name_; }

  // Removes it now. An error where it is in use: descriptors of ours, or someone reads it.
  Result<void> Remove();

 private:
  struct Destroy {
    void operator()(tracefs_instance* instance) const;
  };

  Instance(tracefs_instance* instance, std::string name);

  std::unique_ptr<tracefs_instance, Destroy> instance_;
  std::string name_;
};

// Removes instances of recorders that have ended without doing so. Returns the names of those that
// could not be removed.
std::vector<std::string> RemoveLeftovers();

// ---- The judgement, apart from the kernel, for tests ----

// Field 22 of /proc/PID/stat; empty when there is none.
std::string_view StartTimeOf(std::string_view stat);

// The start time of the process, as /proc tells it; nothing when it does not live.
using ReadStartTime = std::optional<std::string> (*)(model::Pid);

// Whether the name is one of ours whose process has ended, or whose id another process has now.
bool IsLeftover(std::string_view name, ReadStartTime read_start_time);

}  // namespace offcpu::source::tracefs
