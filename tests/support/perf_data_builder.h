// SPDX-License-Identifier: MIT
#pragma once

#include <linux/perf_event.h>
#include <zstd.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "source/replay/file_bytes.h"
#include "source/replay/record_stream.h"
#include "tests/support/event_formats.h"

// Writes small perf.data files, as perf or a machine of the other byte order would.
namespace offcpu::test {

// Ids of the two events of each file.
constexpr uint64_t kSwitchId = 101;
constexpr uint64_t kWakeupId = 102;

class PerfDataBuilder {
 public:
  struct Options {
    bool swap = false;
    bool pipe = false;
    int compress = 0;  // the type of record that holds the others; 0: none
    uint32_t attr_size = 136;
    uint64_t sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                           PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
                           PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW;
    uint64_t read_format = PERF_FORMAT_ID;
    bool context_switch = false;
    bool enable_on_exec = false;
    bool software = false;  // the software event context-switches in place of sched_switch
  };

  // The events have the formats of 6.18-x86_64 in kernel-compat/data.
  explicit PerfDataBuilder(Options options)
      : options_(options),
        switch_format_(FixtureFormat("6.18-x86_64", "sched/sched_switch")),
        wakeup_format_(FixtureFormat("6.18-x86_64", "sched/sched_wakeup")) {}

  // prev leaves in `state`; `chain` may have context markers.
  void Switch(uint64_t time, uint32_t cpu, int32_t prev, uint64_t state, int32_t next,
              const std::vector<uint64_t>& chain = {}) {
    std::string raw(64, '\0');
    PutAt<uint16_t>(&raw, 0, kSwitchConfig);
    PutAt<int32_t>(&raw, 4, prev);  // common_pid
    std::memcpy(raw.data() + 8, "name", 4);
    PutAt<int32_t>(&raw, 24, prev);
    PutAt<int32_t>(&raw, 28, 120);
    PutAt<uint64_t>(&raw, 32, state);
    PutAt<int32_t>(&raw, 56, next);
    Sample(kSwitchId, time, cpu, prev, chain, raw);
  }
  void Wakeup(uint64_t time, uint32_t cpu, int32_t tid) {
    std::string raw(36, '\0');
    PutAt<uint16_t>(&raw, 0, kWakeupConfig);
    PutAt<int32_t>(&raw, 24, tid);
    Sample(kWakeupId, time, cpu, 0, {}, raw);
  }
  // PERF_RECORD_SWITCH of the thread itself.
  void SwitchRecord(uint64_t time, uint32_t cpu, int32_t tid, bool out) {
    std::string body;
    Trailer(&body, time, cpu, tid);
    Record(PERF_RECORD_SWITCH, out ? PERF_RECORD_MISC_SWITCH_OUT : 0, body);
  }
  void Comm(uint64_t time, int32_t pid, int32_t tid, std::string_view name) {
    std::string body;
    Put(&body, pid);
    Put(&body, tid);
    body.append(name).resize(8 + 16);
    Trailer(&body, time, 0, tid);
    Record(PERF_RECORD_COMM, 0, body);
  }
  void Exit(uint64_t time, uint32_t cpu, int32_t pid, int32_t tid) {
    std::string body;
    for (const int32_t id : {pid, pid, tid, tid}) Put(&body, id);
    Put(&body, time);
    Trailer(&body, time, cpu, tid);
    Record(PERF_RECORD_EXIT, 0, body);
  }
  void Lost(uint64_t time, uint32_t cpu, uint64_t count) {
    std::string body;
    Put(&body, kSwitchId);
    Put(&body, count);
    Trailer(&body, time, cpu, 0);
    Record(PERF_RECORD_LOST, 0, body);
  }
  void AuxTrace(uint64_t size) {
    std::string body;
    Put(&body, size);
    body.resize(40);
    Record(source::replay::kAuxTrace, 0, body);
    records_.append(size, '\xa5');
  }
  // perf's list of what the events were opened for: a task, or -1 for whole CPUs.
  void OpenedFor(int32_t task) {
    std::string body;
    Put(&body, uint64_t{1});
    for (const uint64_t value : {kSwitchId, uint64_t{0}, uint64_t{0}}) Put(&body, value);
    Put(&body, static_cast<uint64_t>(static_cast<int64_t>(task)));
    Record(source::replay::kIdIndex, 0, body);
  }
  void EndRound() { Record(source::replay::kFinishedRound, 0, {}); }
  void Record(uint32_t type, uint16_t misc, const std::string& body) {
    Append(&records_, type, misc, body);
  }

  std::string File() const { return options_.pipe ? PipeFile() : PlainFile(); }

 private:
  static constexpr uint64_t kSwitchConfig = 330;
  static constexpr uint64_t kWakeupConfig = 332;

  template <class T>
  void Put(std::string* out, T value) const {
    if (options_.swap) value = source::replay::SwapBytes(value);
    out->append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  template <class T>
  void PutAt(std::string* out, size_t at, T value) const {
    if (options_.swap) value = source::replay::SwapBytes(value);
    std::memcpy(out->data() + at, &value, sizeof(value));
  }
  bool Has(uint64_t bit) const { return (options_.sample_type & bit) != 0; }

  void Append(std::string* out, uint32_t type, uint16_t misc, std::string body) const {
    body.resize((body.size() + 7) / 8 * 8);
    Put(out, type);
    Put(out, misc);
    Put(out, static_cast<uint16_t>(8 + body.size()));
    *out += body;
  }
  void Sample(uint64_t id, uint64_t time, uint32_t cpu, int32_t tid,
              const std::vector<uint64_t>& chain, const std::string& raw) {
    std::string body;
    if (Has(PERF_SAMPLE_IDENTIFIER)) Put(&body, id);
    if (Has(PERF_SAMPLE_IP)) Put(&body, uint64_t{0});
    if (Has(PERF_SAMPLE_TID)) Put(&body, tid);
    if (Has(PERF_SAMPLE_TID)) Put(&body, tid);
    if (Has(PERF_SAMPLE_TIME)) Put(&body, time);
    if (Has(PERF_SAMPLE_ID)) Put(&body, id);
    if (Has(PERF_SAMPLE_CPU)) Put(&body, uint64_t{0});
    if (Has(PERF_SAMPLE_CPU)) PutAt(&body, body.size() - 8, cpu);
    if (Has(PERF_SAMPLE_PERIOD)) Put(&body, uint64_t{1});
    if (Has(PERF_SAMPLE_READ)) Put(&body, uint64_t{7});
    if (Has(PERF_SAMPLE_READ)) Put(&body, id);  // PERF_FORMAT_ID
    if (Has(PERF_SAMPLE_CALLCHAIN)) {
      Put(&body, static_cast<uint64_t>(chain.size()));
      for (const uint64_t address : chain) Put(&body, address);
    }
    if (Has(PERF_SAMPLE_RAW)) {
      Put(&body, static_cast<uint32_t>(raw.size()));
      body += raw;
    }
    Record(PERF_RECORD_SAMPLE, 0, body);
  }
  void Trailer(std::string* body, uint64_t time, uint32_t cpu, int32_t tid) const {
    if (Has(PERF_SAMPLE_TID)) Put(body, tid);
    if (Has(PERF_SAMPLE_TID)) Put(body, tid);
    if (Has(PERF_SAMPLE_TIME)) Put(body, time);
    if (Has(PERF_SAMPLE_ID)) Put(body, kSwitchId);
    if (Has(PERF_SAMPLE_CPU)) Put(body, uint64_t{0});
    if (Has(PERF_SAMPLE_CPU)) PutAt(body, body->size() - 8, cpu);
    if (Has(PERF_SAMPLE_IDENTIFIER)) Put(body, kSwitchId);
  }

  std::string Attr(uint64_t config) const {
    std::string attr(options_.attr_size, '\0');
    const bool software = options_.software && config == kSwitchConfig;
    PutAt<uint32_t>(&attr, 0, software ? PERF_TYPE_SOFTWARE : PERF_TYPE_TRACEPOINT);
    PutAt<uint32_t>(&attr, 4, options_.attr_size);
    PutAt<uint64_t>(&attr, 8, software ? uint64_t{PERF_COUNT_SW_CONTEXT_SWITCHES} : config);
    PutAt<uint64_t>(&attr, 24, options_.sample_type);
    PutAt<uint64_t>(&attr, 32, options_.read_format);
    SetFlag(&attr, 18);  // sample_id_all
    if (options_.context_switch) SetFlag(&attr, 26);
    if (options_.enable_on_exec) SetFlag(&attr, 12);
    return attr;
  }
  // Bit fields begin at the lowest bit on little-endian machines, at the highest on others.
  void SetFlag(std::string* attr, int bit) const {
    const bool little = (std::endian::native == std::endian::little) != options_.swap;
    (*attr)[static_cast<size_t>(40 + bit / 8)] |=
        static_cast<char>(little ? 1 << bit % 8 : 0x80 >> bit % 8);
  }
  std::string TracingData() const {
    std::string data("\x17\x08\x44tracing0.6\0\0\x08\0\x10\0\0", 20);
    for (const char* page : {"header_page", "header_event"}) {
      data.append(page).push_back('\0');
      Put(&data, uint64_t{3});
      data += "abc";
    }
    Put(&data, uint32_t{0});
    Put(&data, uint32_t{1});
    data.append("sched").push_back('\0');
    Put(&data, uint32_t{2});
    for (const std::string& format : {switch_format_, wakeup_format_}) {
      Put(&data, static_cast<uint64_t>(format.size()));
      data += format;
    }
    return data;
  }
  std::string Records() const {
    if (options_.compress == 0) return records_;
    // In two pieces, so that a record is cut between them.
    std::string packed(ZSTD_compressBound(records_.size()), '\0');
    packed.resize(ZSTD_compress(packed.data(), packed.size(), records_.data(), records_.size(), 1));
    std::string records;
    for (const auto& part :
         {packed.substr(0, packed.size() / 2), packed.substr(packed.size() / 2)}) {
      std::string body;
      if (options_.compress == source::replay::kCompressed2) {
        Put(&body, static_cast<uint64_t>(part.size()));
      }
      body += part;
      if (options_.compress == source::replay::kCompressed2) {
        Append(&records, source::replay::kCompressed2, 0, body);
        continue;
      }
      Put(&records, uint32_t{source::replay::kCompressed});  // not padded
      Put(&records, uint16_t{0});
      Put(&records, static_cast<uint16_t>(8 + body.size()));
      records += body;
    }
    return records;
  }
  std::string Magic() const { return options_.swap ? "2ELIFREP" : "PERFILE2"; }

  std::string PlainFile() const {
    const std::string records = Records();
    const std::string tracing = TracingData();
    const uint64_t entry = options_.attr_size + 16;
    const uint64_t ids_at = 104;
    const uint64_t attrs_at = ids_at + 16;
    const uint64_t data_at = attrs_at + 2 * entry;
    std::string file = Magic();
    for (const uint64_t value :
         {uint64_t{104}, entry, attrs_at, 2 * entry, data_at, uint64_t{records.size()}, uint64_t{0},
          uint64_t{0}, uint64_t{1 << 1}, uint64_t{0}, uint64_t{0}, uint64_t{0}}) {
      Put(&file, value);
    }
    Put(&file, kSwitchId);
    Put(&file, kWakeupId);
    for (const uint64_t index : {0, 1}) {
      file += Attr(index == 0 ? kSwitchConfig : kWakeupConfig);
      Put(&file, ids_at + 8 * index);
      Put(&file, uint64_t{8});
    }
    file += records;
    Put(&file, uint64_t{file.size() + 16});
    Put(&file, static_cast<uint64_t>(tracing.size()));
    return file + tracing;
  }
  std::string PipeFile() const {
    std::string file = Magic();
    Put(&file, uint64_t{16});
    for (const uint64_t index : {0, 1}) {
      std::string body = Attr(index == 0 ? kSwitchConfig : kWakeupConfig);
      Put(&body, index == 0 ? kSwitchId : kWakeupId);
      Append(&file, source::replay::kHeaderAttr, 0, body);
    }
    std::string tracing = TracingData();
    std::string body;
    Put(&body, static_cast<uint32_t>(tracing.size()));
    Append(&file, source::replay::kHeaderTracingData, 0, body);
    tracing.resize((tracing.size() + 7) / 8 * 8);
    return file + tracing + Records();
  }

  const Options options_;
  const std::string switch_format_;
  const std::string wakeup_format_;
  std::string records_;
};

}  // namespace offcpu::test
