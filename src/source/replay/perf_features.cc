// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <string>

#include "source/replay/file_bytes.h"
#include "source/replay/perf_file.h"

namespace offcpu::source::replay {
namespace {

// HEADER_* of perf's header.h: fixed numbers, new ones are appended.
enum Feature : uint32_t {
  kTracingData = 1,
  kBuildIds = 2,
  kHostName = 3,
  kOsRelease = 4,
  kVersion = 5,
  kArch = 6,
  kCpuCount = 7,
  kCpuDescription = 8,
  kCommandLine = 11,
  kEventDescriptions = 12,
  kCompression = 27,
  kClockData = 29,
};

constexpr std::array<std::string_view, 33> kNames{"",
                                                  "TRACING_DATA",
                                                  "BUILD_ID",
                                                  "HOSTNAME",
                                                  "OSRELEASE",
                                                  "VERSION",
                                                  "ARCH",
                                                  "NRCPUS",
                                                  "CPUDESC",
                                                  "CPUID",
                                                  "TOTAL_MEM",
                                                  "CMDLINE",
                                                  "EVENT_DESC",
                                                  "CPU_TOPOLOGY",
                                                  "NUMA_TOPOLOGY",
                                                  "BRANCH_STACK",
                                                  "PMU_MAPPINGS",
                                                  "GROUP_DESC",
                                                  "AUXTRACE",
                                                  "STAT",
                                                  "CACHE",
                                                  "SAMPLE_TIME",
                                                  "MEM_TOPOLOGY",
                                                  "CLOCKID",
                                                  "DIR_FORMAT",
                                                  "BPF_PROG_INFO",
                                                  "BPF_BTF",
                                                  "COMPRESSED",
                                                  "CPU_PMU_CAPS",
                                                  "CLOCK_DATA",
                                                  "HYBRID_TOPOLOGY",
                                                  "PMU_CAPS",
                                                  "CPU_DOMAIN_INFO"};

constexpr uint32_t kMostFeatures = 256;  // bits in the file's header
constexpr size_t kKernelIdBytes = 20;    // a build-id in the records of perf
constexpr size_t kBuildIdHead = 8 + 4;   // head and pid
constexpr size_t kBuildIdRoom = 24;
constexpr uint16_t kHasIdSize = 1U << 15;  // PERF_RECORD_MISC_BUILD_ID_SIZE

// A length, then text padded with NULs.
std::string ReadString(FileBytes& bytes) {
  const auto size = bytes.Read<uint32_t>();
  FileBytes text(bytes.Take(size), false);
  return std::string(text.TakeString());
}

std::string ReadWords(FileBytes& bytes) {
  const auto count = bytes.Read<uint32_t>();
  std::string words;
  for (uint32_t i = 0; i < count && bytes.ok(); ++i) {
    if (i > 0) words += ' ';
    words += ReadString(bytes);
  }
  return words;
}

void ReadBuildIds(std::span<const std::byte> data, bool swap, PerfFeatures* features) {
  while (data.size() >= 8) {
    const auto size = LoadInteger<uint16_t>(data.data() + 6, swap);
    if (size < 8 || size > data.size()) return;
    ReadBuildId(data.first(size), swap, features);
    data = data.subspan(size);
  }
}

// Only the names: ids and attributes stand elsewhere too.
void ReadEventNames(FileBytes& bytes, std::vector<PerfEvent>* events) {
  const auto count = bytes.Read<uint32_t>();
  const auto attr_size = bytes.Read<uint32_t>();
  for (uint32_t i = 0; i < count && bytes.ok(); ++i) {
    bytes.Skip(attr_size);
    const auto ids = bytes.Read<uint32_t>();
    std::string name = ReadString(bytes);
    bytes.Skip(size_t{ids} * 8);
    if (i < events->size() && bytes.ok()) (*events)[i].name = std::move(name);
  }
}

void ReadClocks(FileBytes& bytes, PerfFeatures* features) {
  bytes.Skip(4 + 4);  // version, clock
  ClockPair pair;
  pair.real = bytes.Read<uint64_t>();
  pair.event = bytes.Read<uint64_t>();
  if (bytes.ok()) features->clock_pair = pair;
}

}  // namespace

std::string_view FeatureName(uint32_t number) {
  return number < kNames.size() ? kNames[number] : std::string_view();
}

bool UsesFeature(uint32_t number) {
  constexpr uint32_t kUsed[] = {
      kTracingData, kBuildIds,       kHostName,    kOsRelease,         kVersion,     kArch,
      kCpuCount,    kCpuDescription, kCommandLine, kEventDescriptions, kCompression, kClockData};
  return std::find(std::begin(kUsed), std::end(kUsed), number) != std::end(kUsed);
}

void ReadBuildId(std::span<const std::byte> record, bool swap, PerfFeatures* features) {
  if (record.size() < kBuildIdHead + kBuildIdRoom) return;
  const auto misc = LoadInteger<uint16_t>(record.data() + 4, swap);
  size_t size = kKernelIdBytes;
  if ((misc & kHasIdSize) != 0) {
    size = std::min<size_t>(static_cast<uint8_t>(record[kBuildIdHead + kKernelIdBytes]), size);
  }
  const auto id = record.subspan(kBuildIdHead, size);
  FileBytes name(record.subspan(kBuildIdHead + kBuildIdRoom), false);
  std::string path(name.TakeString());
  // The kernel's has had several names: [kernel.kallsyms], [kernel.kallsyms]_text, ...
  if (path.starts_with(kKernelFile)) path = kKernelFile;
  features->build_ids[path].assign(reinterpret_cast<const char*>(id.data()), id.size());
}

Result<void> ReadFeature(uint32_t number, std::span<const std::byte> data, bool swap,
                         PerfFile* file) {
  PerfFeatures& features = file->features;
  const auto at = std::lower_bound(features.numbers.begin(), features.numbers.end(), number);
  if (at != features.numbers.end() && *at == number) return {};  // again
  if (number < kMostFeatures) features.numbers.insert(at, number);
  if (data.empty()) return {};  // perf did not know it
  FileBytes bytes(data, swap);
  switch (number) {
    case kTracingData: {
      auto formats = ParseTracingData(data, swap, "sched");
      if (!formats) return formats.error();
      features.formats = std::move(*formats);
      return {};
    }
    case kBuildIds: ReadBuildIds(data, swap, &features); return {};
    case kHostName: features.host = ReadString(bytes); break;
    case kOsRelease: features.release = ReadString(bytes); break;
    case kVersion: features.perf_version = ReadString(bytes); break;
    case kArch: features.machine = ReadString(bytes); break;
    case kCpuDescription: features.cpu_description = ReadString(bytes); break;
    case kCommandLine: features.command = ReadWords(bytes); break;
    case kEventDescriptions: ReadEventNames(bytes, &file->events); break;
    case kClockData: ReadClocks(bytes, &features); break;
    case kCompression: features.compressed = true; return {};
    case kCpuCount:
      features.cpus_possible = bytes.Read<uint32_t>();
      features.cpus_online = bytes.Read<uint32_t>();
      break;
    default: return {};
  }
  if (bytes.ok()) return {};
  return Failed("its feature " + std::string(FeatureName(number)) + " is cut short");
}

}  // namespace offcpu::source::replay
