// SPDX-License-Identifier: MIT
#pragma once

#include <cstring>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "source/tracefs/decode.h"
#include "source/tracefs/page.h"
#include "source/tracefs/pipe.h"
#include "tests/support/event_formats.h"

// Pages of trace_pipe_raw as a 64-bit kernel writes them, and records of the events in them as
// kernel-compat/data/6.18-x86_64 describes them.
namespace offcpu::test {

constexpr kernel_compat::PageLayout kPageLayout{8, 8, 16, 4080};

inline source::tracefs::Formats TraceFormats() {
  namespace kc = kernel_compat;
  const auto text = [](const char* event) { return FixtureFormat("6.18-x86_64", event); };
  source::tracefs::Formats formats;
  formats.head = *kc::ParseRecordHead(text("sched/sched_switch"), "sched_switch");
  formats.switches = *kc::ParseSwitchFormat(text("sched/sched_switch"), std::nullopt);
  formats.wakeup = *kc::ParseWakeupFormat(text("sched/sched_wakeup"), "sched_wakeup");
  formats.new_task = *kc::ParseNewTaskFormat(text("task/task_newtask"));
  formats.rename = *kc::ParseRenameFormat(text("task/task_rename"));
  formats.exec = *kc::ParseExecFormat(text("sched/sched_process_exec"));
  formats.exit = *kc::ParseExitFormat(text("sched/sched_process_exit"));
  formats.kernel_stack = *kc::ParseKernelStackFormat(text("ftrace/kernel_stack"));
  formats.user_stack = *kc::ParseUserStackFormat(text("ftrace/user_stack"));
  return formats;
}

using Raw = std::vector<std::byte>;

// Records of the events of TraceFormats().
class RecordMaker {
 public:
  explicit RecordMaker(source::tracefs::Formats formats) : formats_(std::move(formats)) {}

  Raw Switch(int32_t prev, int64_t state, int32_t next, std::string_view comm = "worker") const {
    RawRecord record = Head(64, formats_.switches.id, prev);
    record.PutText(8, comm).Put(24, prev).Put(32, state).Put(56, next);
    return Copy(record);
  }
  Raw Wakeup(int32_t writer, int32_t tid) const {
    RawRecord record = Head(40, formats_.wakeup.id, writer);
    record.Put(formats_.wakeup.pid.offset, tid);
    return Copy(record);
  }
  Raw NewTask(int32_t parent, int32_t tid, uint64_t flags) const {
    RawRecord record = Head(44, formats_.new_task.id, parent);
    record.Put(8, tid).Put(32, flags);
    return Copy(record);
  }
  Raw Rename(int32_t tid, std::string_view name) const {
    RawRecord record = Head(48, formats_.rename.id, tid);
    record.Put(8, tid).PutText(28, name);
    return Copy(record);
  }
  Raw Exec(int32_t caller, int32_t leader, std::string_view file) const {
    RawRecord record = Head(20 + file.size() + 1, formats_.exec.id, leader);
    record.Put(8, static_cast<uint32_t>((file.size() + 1) << 16 | 20U));
    record.Put(12, leader).Put(16, caller).PutText(20, file);
    return Copy(record);
  }
  Raw Exit(int32_t tid) const {
    RawRecord record = Head(36, formats_.exit.id, tid);
    record.Put(24, tid);
    return Copy(record);
  }
  Raw KernelStack(int32_t writer, const std::vector<uint64_t>& addresses) const {
    RawRecord record = Head(16 + addresses.size() * 8, formats_.kernel_stack.id, writer);
    record.Put(8, static_cast<int32_t>(addresses.size()));
    PutAddresses(record, addresses);
    return Copy(record);
  }
  Raw UserStack(int32_t writer, uint32_t tgid, std::vector<uint64_t> addresses) const {
    RawRecord record = Head(16 + 8 * 8, formats_.user_stack.id, writer);
    addresses.resize(8);
    record.Put(8, tgid);
    PutAddresses(record, addresses);
    return Copy(record);
  }

 private:
  static RawRecord Head(size_t size, uint16_t type, int32_t writer) {
    RawRecord record(size);
    record.Put(0, type).Put(2, uint16_t{0}).Put(4, writer);
    return record;
  }
  static void PutAddresses(RawRecord& record, const std::vector<uint64_t>& addresses) {
    for (size_t i = 0; i < addresses.size(); ++i) record.Put(16 + i * 8, addresses[i]);
  }
  static Raw Copy(const RawRecord& record) {
    return {record.bytes().begin(), record.bytes().end()};
  }

  const source::tracefs::Formats formats_;
};

// One page, written as the kernel's ring buffer does: time deltas of 27 bits, longer ones in a
// record of their own; payloads of up to 112 bytes with their length in the head.
class PageMaker {
 public:
  explicit PageMaker(Nanos time) : time_(time) { PutAt(0, time); }

  PageMaker& Add(Nanos time, const Raw& raw) {
    Nanos delta = time - time_;
    time_ = time;
    if (delta >> 27 != 0) {
      TimeRecord(30, delta);
      delta = 0;
    }
    Raw payload = raw;
    payload.resize((raw.size() + 3) / 4 * 4);
    const auto head = static_cast<uint32_t>(delta << 5);
    if (payload.size() <= 28 * 4) {
      Put(head | static_cast<uint32_t>(payload.size() / 4));
    } else {
      Put(head);
      Put(static_cast<uint32_t>(payload.size() + 4));
    }
    data_.insert(data_.end(), payload.begin(), payload.end());
    return *this;
  }
  // Of any type and content, for what should not be.
  PageMaker& Words(std::initializer_list<uint32_t> words) {
    for (const uint32_t word : words) Put(word);
    return *this;
  }
  PageMaker& AbsoluteTime(Nanos time) {
    time_ = time;
    TimeRecord(31, time);
    return *this;
  }
  // A record that was given up after its place had been taken.
  PageMaker& Discarded(uint32_t payload) {
    Put(1U << 5 | 29);
    Put(payload + 4);
    data_.resize(data_.size() + payload);
    time_ += 1;
    return *this;
  }
  // Events before this page were overwritten; with `count` the page says how many.
  PageMaker& Missed(std::optional<uint64_t> count = std::nullopt) {
    flags_ |= 1U << 31;
    if (count) flags_ |= 1U << 30;
    missed_ = count;
    return *this;
  }
  PageMaker& Commit(uint64_t bytes) {
    commit_ = bytes;
    return *this;
  }

  std::vector<std::byte> bytes() const {
    std::vector<std::byte> page(kPageLayout.page_size(), std::byte{0xee});
    const uint64_t commit = commit_.value_or(data_.size()) | flags_;
    std::memcpy(page.data(), head_, 8);
    std::memcpy(page.data() + 8, &commit, 8);
    std::memcpy(page.data() + 16, data_.data(), data_.size());
    if (missed_) std::memcpy(page.data() + 16 + data_.size(), &*missed_, 8);
    return page;
  }
  source::tracefs::Page page() const {
    source::tracefs::Page page(kPageLayout.page_size());
    const auto from = bytes();
    std::memcpy(page.bytes().data(), from.data(), from.size());
    return page;
  }

 private:
  void Put(uint32_t word) {
    const auto* at = reinterpret_cast<const std::byte*>(&word);
    data_.insert(data_.end(), at, at + sizeof(word));
  }
  void PutAt(size_t offset, uint64_t value) { std::memcpy(head_ + offset, &value, sizeof(value)); }
  void TimeRecord(uint32_t type, Nanos time) {
    Put(static_cast<uint32_t>(time << 5) | type);
    Put(static_cast<uint32_t>(time >> 27));
  }

  std::byte head_[8];
  Nanos time_;
  std::vector<std::byte> data_;
  uint64_t flags_ = 0;
  std::optional<uint64_t> commit_;
  std::optional<uint64_t> missed_;
};

// A ring that holds what a test puts into it.
class FakePipe : public source::tracefs::Pipe {
 public:
  Result<bool> ReadPage(std::span<std::byte> page) override {
    if (pages.empty()) {
      if (!failure.empty()) return Failed(failure);
      return false;
    }
    std::memcpy(page.data(), pages.front().data(), page.size());
    pages.pop_front();
    return true;
  }
  std::optional<source::tracefs::RingStats> ReadStats() override { return stats; }

  void Hold(const PageMaker& page) { pages.push_back(page.bytes()); }

  std::deque<std::vector<std::byte>> pages;
  std::optional<source::tracefs::RingStats> stats = source::tracefs::RingStats{};
  std::string failure;
};

}  // namespace offcpu::test
