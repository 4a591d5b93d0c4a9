// SPDX-License-Identifier: MIT
#pragma once

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapping.h"
#include "kernel-compat/sched_formats.h"
#include "model/sinks.h"

// Bytes as the kernel writes them into a ring, and a ring to put them into.
namespace offcpu::test {

// Appends fields one after the other.
class RecordBytes {
 public:
  template <class T>
  RecordBytes& Add(T value) {
    const size_t at = bytes_.size();
    bytes_.resize(at + sizeof(T));
    std::memcpy(bytes_.data() + at, &value, sizeof(T));
    return *this;
  }
  RecordBytes& AddBytes(std::string_view text, size_t size) {
    for (size_t i = 0; i < size; ++i) {
      bytes_.push_back(static_cast<std::byte>(i < text.size() ? text[i] : '\0'));
    }
    return *this;
  }
  // The record with its header; padded to 8 bytes.
  std::vector<std::byte> Record(uint32_t type, uint16_t misc = 0) const {
    std::vector<std::byte> record((sizeof(perf_event_header) + bytes_.size() + 7) / 8 * 8);
    std::copy(bytes_.begin(), bytes_.end(), record.begin() + sizeof(perf_event_header));
    const perf_event_header header{type, misc, static_cast<uint16_t>(record.size())};
    std::memcpy(record.data(), &header, sizeof(header));
    return record;
  }

 private:
  std::vector<std::byte> bytes_;
};

// Ids of the events in these records.
constexpr uint64_t kStackEvent = 11;
constexpr uint64_t kPlainEvent = 12;
constexpr uint64_t kWakeupEvent = 13;

// The layout of sched_switch on x86-64 since 5.14 and its letters, as in kernel-compat/data.
inline kernel_compat::SwitchFormat TestSwitchFormat() {
  kernel_compat::SwitchFormat format;
  format.id = 1;
  format.prev_comm = {8, 16, false, kernel_compat::FieldKind::kPlain};
  format.prev_pid = {24, 4, true, kernel_compat::FieldKind::kPlain};
  format.prev_state = {32, 8, true, kernel_compat::FieldKind::kPlain};
  format.next_pid = {56, 4, true, kernel_compat::FieldKind::kPlain};
  format.record_size = 64;
  return format;
}

inline kernel_compat::WakeupFormat TestWakeupFormat() {
  kernel_compat::WakeupFormat format;
  format.id = 2;
  format.pid = {24, 4, true, kernel_compat::FieldKind::kPlain};
  format.record_size = 28;
  return format;
}

struct SwitchRecord {
  Nanos time = 0;
  int32_t prev = 0;
  int64_t state = 0;
  int32_t next = 0;
  std::vector<uint64_t> chain;  // with context markers; only when has_chain
  bool has_chain = false;
  int32_t head_pid = 0;  // 0: as prev
  int32_t head_tid = 0;
};

inline RecordBytes SampleHead(uint64_t event, int32_t pid, int32_t tid, Nanos time) {
  RecordBytes bytes;
  bytes.Add(event).Add(pid).Add(tid).Add(time).Add(uint32_t{0}).Add(uint32_t{0});
  return bytes;
}

inline std::vector<std::byte> MakeSwitch(const SwitchRecord& record) {
  const int32_t pid = record.head_pid != 0 ? record.head_pid : record.prev;
  const int32_t tid = record.head_tid != 0 ? record.head_tid : record.prev;
  RecordBytes bytes =
      SampleHead(record.has_chain ? kStackEvent : kPlainEvent, pid, tid, record.time);
  if (record.has_chain) {
    bytes.Add(static_cast<uint64_t>(record.chain.size()));
    for (uint64_t address : record.chain) bytes.Add(address);
  }
  bytes.Add(uint32_t{64}).AddBytes("", 8).AddBytes("prev", 16).Add(record.prev).Add(int32_t{120});
  bytes.Add(record.state).AddBytes("next", 16).Add(record.next).Add(int32_t{120});
  return bytes.Record(PERF_RECORD_SAMPLE);
}

inline std::vector<std::byte> MakeWakeup(Nanos time, int32_t tid) {
  RecordBytes bytes = SampleHead(kWakeupEvent, 1, 1, time);
  bytes.Add(uint32_t{28}).AddBytes("", 8).AddBytes("woken", 16).Add(tid);
  return bytes.Record(PERF_RECORD_SAMPLE);
}

inline RecordBytes& AddTrailer(RecordBytes& bytes, int32_t pid, int32_t tid, Nanos time) {
  return bytes.Add(pid).Add(tid).Add(time).Add(uint32_t{0}).Add(uint32_t{0}).Add(uint64_t{0});
}

inline std::vector<std::byte> MakeLost(Nanos time, uint64_t count) {
  RecordBytes bytes;
  bytes.Add(uint64_t{0}).Add(count);
  return AddTrailer(bytes, 0, 0, time).Record(PERF_RECORD_LOST);
}

// Memory that looks like a mapped ring of one page of data.
class FakeRing {
 public:
  FakeRing() : page_(static_cast<size_t>(::sysconf(_SC_PAGESIZE))) {
    address_ =
        ::mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  }
  // May be taken once; the memory then belongs to the mapping.
  Mapping Take() { return Mapping(address_, 2 * page_); }
  size_t size() const { return page_; }

  void Write(const std::vector<std::byte>& record) {
    for (std::byte byte : record) data()[head_++ % page_] = byte;
    header()->data_head = head_;
  }
  uint64_t tail() { return header()->data_tail; }

 private:
  perf_event_mmap_page* header() { return static_cast<perf_event_mmap_page*>(address_); }
  std::byte* data() { return static_cast<std::byte*>(address_) + page_; }

  size_t page_;
  void* address_ = nullptr;
  uint64_t head_ = 0;
};

// Writes down what is delivered, one short text an event.
class EventLog : public model::EventSink {
 public:
  void OnSwitch(const model::Switch& e) override {
    switches.push_back(e);
    kernel.assign(e.chain.kernel.begin(), e.chain.kernel.end());
    user.assign(e.chain.user.begin(), e.chain.user.end());
    Add(e.time, "switch " + std::to_string(e.prev_tid) + ">" + std::to_string(e.next_tid));
  }
  void OnSwitchIn(const model::SwitchIn& e) override { Add(e.time, "in " + std::to_string(e.tid)); }
  void OnWakeup(const model::Wakeup& e) override { Add(e.time, "wakes " + std::to_string(e.tid)); }
  void OnFork(const model::Fork& e) override {
    Add(e.time, "fork " + std::to_string(e.parent_tid) + ">" + std::to_string(e.tid));
  }
  void OnCommChange(const model::CommChange& e) override {
    Add(e.time, std::string(e.exec ? "exec " : "comm ") + std::to_string(e.tid) + " " +
                    std::string(model::CommView(e.comm)));
  }
  void OnExit(const model::Exit& e) override {
    exits.push_back(e);
    Add(e.time, "exit " + std::to_string(e.tid));
  }
  void OnMap(const model::Map& e) override { Add(e.time, "map " + std::string(e.path)); }
  void OnCgroupMove(const model::CgroupMove& e) override {
    Add(e.time, "move " + std::to_string(e.tid) + " " + std::string(e.path));
  }
  void OnLoss(const model::Loss& e) override {
    const std::string to = e.to == model::kStillLosing ? "?" : std::to_string(e.to);
    Add(e.from, "loss of " + std::to_string(e.count) + " until " + to);
  }

  std::vector<std::string> lines;
  std::vector<model::Switch> switches;  // their chains are gone: see the next two
  std::vector<model::Exit> exits;
  std::vector<uint64_t> kernel;  // of the last switch
  std::vector<uint64_t> user;

 private:
  void Add(Nanos time, const std::string& text) {
    lines.push_back(std::to_string(time) + " " + text);
  }
};

}  // namespace offcpu::test
