// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "source/replay/input.h"
#include "source/replay/perf_attr.h"
#include "source/replay/tracing_data.h"

namespace offcpu::source::replay {

// An event of a recording.
struct PerfEvent {
  EventAttr attr;
  std::vector<uint64_t> ids;  // as records name it; one a CPU or task
  std::string name;           // "sched:sched_switch"; empty where the recording has none
};

// How the clock of the records and the time of day went together.
struct ClockPair {
  Nanos real = 0;   // CLOCK_REALTIME
  Nanos event = 0;  // the clock of the records
};

// What a recording says of itself, as far as it is used or shown. All of it is optional.
struct PerfFeatures {
  std::string host;
  std::string release;  // of the kernel
  std::string perf_version;
  std::string machine;
  std::string cpu_description;
  std::string command;  // words separated by blanks
  uint32_t cpus_online = 0;
  uint32_t cpus_possible = 0;
  std::map<std::string, std::string> build_ids;  // raw bytes by path; "[kernel.kallsyms]" too
  std::vector<FormatText> formats;               // of the system sched
  std::optional<ClockPair> clock_pair;
  bool compressed = false;
  std::vector<uint32_t> numbers;  // of all features there are, ascending
};

constexpr std::string_view kKernelFile = "[kernel.kallsyms]";

// "HOSTNAME" and so on; empty for numbers that this version does not know.
std::string_view FeatureName(uint32_t number);

// Whether ReadFeature() looks into it.
bool UsesFeature(uint32_t number);

// The parts of a perf.data file around its records.
struct PerfFile {
  bool pipe = false;                  // pipe layout: events and features come as records
  bool swap = false;                  // written on a machine of the other byte order
  bool ended = true;                  // false: perf was killed; what it writes last is missing
  std::optional<uint64_t> data_size;  // of the records; nothing: to the end
  std::vector<PerfEvent> events;
  PerfFeatures features;
  std::vector<std::string> damages;  // what could not be read of the features
};

// Reads everything but the records, and moves the input to where those begin. An error tells why
// the file can't be used at all.
Result<PerfFile> ReadPerfFile(Input& input);

// Takes in one feature, from its section or record.
Result<void> ReadFeature(uint32_t number, std::span<const std::byte> data, bool swap,
                         PerfFile* file);
// A record of the list of build-ids (PERF_RECORD_HEADER_BUILD_ID), with its head.
void ReadBuildId(std::span<const std::byte> record, bool swap, PerfFeatures* features);
// The event of a PERF_RECORD_HEADER_ATTR: attributes, then ids.
Result<PerfEvent> ReadEventRecord(std::span<const std::byte> body, bool swap);

}  // namespace offcpu::source::replay
