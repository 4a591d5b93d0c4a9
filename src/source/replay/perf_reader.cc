// SPDX-License-Identifier: MIT
#include "source/replay/perf_reader.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <utility>

#include "source/replay/file_bytes.h"
#include "source/replay/sample.h"

namespace offcpu::source::replay {

Result<std::unique_ptr<PerfReader>> PerfReader::Open(Input input) {
  auto file = ReadPerfFile(input);
  if (!file) return file.error();
  std::unique_ptr<PerfReader> reader(new PerfReader(std::move(input), std::move(*file)));
  // In the pipe layout these come later.
  for (PerfEvent& event : reader->file_.events) reader->events_.Add(std::move(event));
  reader->file_.events.clear();
  if (auto roles = reader->events_.AssignRoles(reader->features()); !roles) return roles.error();
  return reader;
}

PerfReader::PerfReader(Input input, PerfFile file)
    : input_(std::move(input)),
      file_(std::move(file)),
      stream_(input_, file_.data_size, file_.swap),
      events_(file_.swap) {}

std::vector<std::string> PerfReader::Damages() const {
  std::vector<std::string> damages = file_.damages;
  if (!stream_.damage().empty()) damages.push_back(stream_.damage());
  if (!file_.ended) damages.emplace_back("perf was ended before it could finish the file");
  return damages;
}

Result<bool> PerfReader::Next(PerfItem* item) {
  for (;;) {
    if (!stream_.Next(&item->record)) return false;
    const uint32_t type = item->record.type;
    ++seen_.records[std::min(type, PerfSeen::kOtherType)];
    item->round_end = type == kFinishedRound;
    if (item->round_end) return true;
    if (type >= kHeaderAttr) {
      if (auto taken = TakeOwnRecord(item->record); !taken) return taken.error();
      continue;
    }
    if (Classify(item)) return true;
  }
}

// ---- records of perf ----------------------------------------------------------------------------

Result<void> PerfReader::TakeOwnRecord(const Record& record) {
  switch (record.type) {
    case kHeaderAttr: {
      auto event = ReadEventRecord(record.body(), swap());
      if (!event) return event.error();
      events_.Add(std::move(*event));
      return {};
    }
    case kHeaderFeature: return TakeFeature(record);
    case kHeaderTracingData: return TakeTracingData(record);
    case kHeaderBuildId: ReadBuildId(record.bytes, swap(), &file_.features); return {};
    case kIdIndex:
    case kThreadMap: TakeTasks(record); return {};
    default: return {};
  }
}

Result<void> PerfReader::TakeFeature(const Record& record) {
  FileBytes body(record.body(), swap());
  const auto number = static_cast<uint32_t>(body.Read<uint64_t>());
  const auto data = body.Take(body.remaining());
  if (!UsesFeature(number)) return ReadFeature(number, data, swap(), &file_);
  // Names of events go to those that came before.
  std::vector<PerfEvent> named(events_.events().size());
  file_.events.swap(named);
  const auto read = ReadFeature(number, data, swap(), &file_);
  file_.events.swap(named);
  for (size_t i = 0; i < named.size(); ++i) {
    if (!named[i].name.empty()) events_.events()[i].described.name = named[i].name;
  }
  if (!read) AddDamage(read.error().message);
  return events_.AssignRoles(features());
}

Result<void> PerfReader::TakeTracingData(const Record& record) {
  constexpr uint64_t kLimit = 64U << 20;
  FileBytes body(record.body(), swap());
  const auto size = body.Read<uint32_t>();
  // perf puts the data behind the record, simpleperf into it.
  std::vector<std::byte> payload;
  if (size <= body.remaining()) {
    const auto inside = body.Take(size);
    payload.assign(inside.begin(), inside.end());
  } else {
    payload = stream_.ReadPayload(std::min<uint64_t>(size, kLimit));
  }
  auto formats = ParseTracingData(payload, swap(), "sched");
  if (!formats) {
    AddDamage(formats.error().message);
    return {};
  }
  file_.features.formats = std::move(*formats);
  return events_.AssignRoles(features());
}

void PerfReader::AddDamage(const std::string& damage) {
  constexpr size_t kMost = 16;
  if (file_.damages.size() < kMost) file_.damages.push_back(damage);
}

// Which tasks the events were opened for: -1 is a whole CPU.
void PerfReader::TakeTasks(const Record& record) {
  FileBytes body(record.body(), swap());
  const auto count = body.Read<uint64_t>();
  const bool index = record.type == kIdIndex;
  for (uint64_t i = 0; i < count && body.ok(); ++i) {
    if (index) body.Skip(8 + 8 + 8);  // id, position, CPU
    const auto task = static_cast<int64_t>(body.Read<uint64_t>());
    if (!index) body.Skip(16);  // name
    if (!body.ok()) return;
    // The index has 32-bit numbers in 64-bit fields.
    (static_cast<int32_t>(task) >= 0 ? seen_.follows_tasks : seen_.follows_cpus) = true;
  }
}

// ---- records of the kernel ----------------------------------------------------------------------

bool PerfReader::Classify(PerfItem* item) {
  const Record& record = item->record;
  const size_t size = record.bytes.size();
  const bool sample = record.type == PERF_RECORD_SAMPLE;
  item->event = events_.EventOf(record);
  item->time = 0;
  item->cpu = -1;
  if (item->event == EventTable::kNone) {
    if (sample) ++seen_.foreign_samples;
    if (sample || events_.events().empty()) return false;
    item->event = 0;
  }
  const RecordLayout& layout = events_.events()[item->event].layout;
  const size_t needed = sample ? layout.fixed_end : size_t{8} + layout.trailer_size;
  if (size < needed) {
    ++seen_.malformed;
    return false;
  }
  const auto place = [&](uint16_t in_sample, uint16_t from_end) -> const std::byte* {
    const uint16_t at = sample ? in_sample : from_end;
    return at == 0 ? nullptr : record.bytes.data() + (sample ? at : size - at);
  };
  if (const auto* at = place(layout.time, layout.trailer_time)) {
    item->time = LoadInteger<uint64_t>(at, swap());
    if (item->time == ~Nanos{0}) item->time = 0;
  }
  if (const auto* at = place(layout.cpu, layout.trailer_cpu)) {
    const auto cpu = LoadInteger<uint32_t>(at, swap());
    if (cpu < static_cast<uint32_t>(kMaxCpus)) item->cpu = static_cast<model::Cpu>(cpu);
  }
  if (sample) CountSample(*item);
  if (record.type == PERF_RECORD_SWITCH || record.type == PERF_RECORD_SWITCH_CPU_WIDE) {
    const bool out = (record.misc & PERF_RECORD_MISC_SWITCH_OUT) != 0;
    ++(out ? seen_.switch_out_records : seen_.switch_in_records);
    if (record.type == PERF_RECORD_SWITCH_CPU_WIDE) ++seen_.cpu_wide_records;
  }
  if (record.type == PERF_RECORD_MMAP && !kernel_reference_) NoteKernelMap(record);
  if (record.type == PERF_RECORD_LOST || record.type == PERF_RECORD_LOST_SAMPLES) {
    CountLost(record);
  }
  if (item->time != 0) CountTime(*item);
  return true;
}

void PerfReader::CountLost(const Record& record) {
  FileBytes body(record.body(), swap());
  if (record.type == PERF_RECORD_LOST) body.Skip(8);  // id
  const auto count = body.Read<uint64_t>();
  (record.type == PERF_RECORD_LOST ? seen_.lost_events : seen_.lost_samples) += count;
}

// perf keeps the address of a symbol of the kernel in the place of the file's offset, and its name
// behind that of the file.
void PerfReader::NoteKernelMap(const Record& record) {
  FileBytes body(record.body(), swap());
  const auto pid = body.Read<int32_t>();
  body.Skip(4 + 8 + 8);  // tid, start, length
  const auto address = body.Read<uint64_t>();
  const std::string_view path = body.TakeString();
  if (pid != -1 || !body.ok() || !path.starts_with(kKernelFile)) return;
  kernel_reference_ = {std::string(path.substr(kKernelFile.size())), address};
}

void PerfReader::CountTime(const PerfItem& item) {
  if (seen_.first == 0 || item.time < seen_.first) seen_.first = item.time;
  seen_.last = std::max(seen_.last, item.time);
  if (item.cpu < 0) return;
  const auto cpu = static_cast<size_t>(item.cpu);
  if (seen_.cpus.size() <= cpu) seen_.cpus.resize(cpu + 1);
  PerfSeen::Cpu& seen = seen_.cpus[cpu];
  if (seen.records++ == 0 || item.time < seen.first) seen.first = item.time;
  seen.last = std::max(seen.last, item.time);
}

void PerfReader::CountSample(const PerfItem& item) {
  if (seen_.samples.size() <= item.event) seen_.samples.resize(item.event + size_t{1});
  ++seen_.samples[item.event];
  if (events_.events()[item.event].role == Role::kSwitch) CountSwitch(item);
}

// Does who leaves follow on who came last? Only so many are looked at: it is the same all along.
void PerfReader::CountSwitch(const PerfItem& item) {
  constexpr uint64_t kEnough = 10'000;
  if (seen_.switch_outs >= kEnough) return;
  SampleReader reader(swap());
  SampleParts parts;
  model::Switch event;
  if (!reader.Read(item.record.bytes, events_.events()[item.event], &parts) ||
      !reader.ReadSwitch(parts.raw, events_.switch_format(), &event)) {
    return;
  }
  ++seen_.switch_outs;
  if (event.prev_tid == 0) ++seen_.idle_outs;
  if (item.cpu < 0) return;
  const auto cpu = static_cast<size_t>(item.cpu);
  if (last_next_.size() <= cpu) last_next_.resize(cpu + 1, -1);
  if (last_next_[cpu] == event.prev_tid) ++seen_.chained;
  last_next_[cpu] = event.next_tid;
}

}  // namespace offcpu::source::replay
