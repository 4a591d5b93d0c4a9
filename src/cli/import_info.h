// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace offcpu::cli {

// What a recording holds, and whether a profile can be made of it.
struct ImportInfo {
  struct Event {
    std::string name;
    std::string use;  // "switches", "wake-ups", "call chains", ""; empty: none
    std::string clock;
    uint64_t samples = 0;
  };
  struct Cpu {
    int number = 0;
    uint64_t records = 0;
    Nanos first_ns = 0;  // since the start of the window
    Nanos last_ns = 0;
  };

  std::string file;
  std::string format;      // "perf.data, pipe layout, other byte order, compressed"
  std::string written_by;  // version of perf
  std::string host;
  std::string kernel;
  std::string machine;
  std::string cpu_description;
  std::string command;
  uint32_t cpus = 0;
  std::vector<std::string> features;
  std::vector<Event> events;
  uint64_t switch_records = 0;
  uint64_t build_ids = 0;
  bool follows_tasks = false;
  Nanos start_ns = 0;  // on the recording's clock
  Nanos window_ns = 0;
  std::vector<Cpu> per_cpu;
  uint64_t lost_events = 0;
  uint64_t lost_samples = 0;
  uint64_t malformed = 0;
  std::vector<std::string> damages;
  std::optional<Error> refusal;  // why no profile can be made of it
};

// Reads the whole recording; "-" is standard input.
Result<ImportInfo> ReadImportInfo(const std::string& path);

std::string ImportInfoText(const ImportInfo& info);
std::string ImportInfoJson(const ImportInfo& info);

}  // namespace offcpu::cli
