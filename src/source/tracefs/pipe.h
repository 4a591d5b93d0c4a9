// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace offcpu::source::tracefs {

// What a CPU's ring counted since it was made (per_cpu/cpuN/stats).
struct RingStats {
  uint64_t overrun = 0;  // unread events that newer ones overwrote; pages tell of these
  uint64_t dropped = 0;  // events that were not written at all; nothing else tells of these
};
std::optional<RingStats> ParseRingStats(std::string_view text);

// One CPU's ring of an instance, as a reader sees it.
class Pipe {
 public:
  virtual ~Pipe() = default;
  // Takes the next page, whole or as far as it is written. False when there is nothing.
  virtual Result<bool> ReadPage(std::span<std::byte> page) = 0;
  virtual std::optional<RingStats> ReadStats() = 0;
};

// trace_pipe_raw and stats below per_cpu/cpuN.
class CpuPipe : public Pipe {
 public:
  static Result<CpuPipe> Open(const std::string& directory);

  int fd() const { return fd_.get(); }
  Result<bool> ReadPage(std::span<std::byte> page) override;
  std::optional<RingStats> ReadStats() override;

 private:
  CpuPipe(UniqueFd fd, std::string directory);

  UniqueFd fd_;
  std::string directory_;
};

}  // namespace offcpu::source::tracefs
