// SPDX-License-Identifier: MIT
#include "source/perf/ring.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "base/check.h"

namespace offcpu::source::perf {
namespace {

size_t PageSize() { return static_cast<size_t>(::sysconf(_SC_PAGESIZE)); }

}  // namespace

Result<PerfRing> PerfRing::Map(int fd, size_t data_bytes) {
  const size_t bytes = data_bytes + PageSize();
  void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (address == MAP_FAILED)
    return SystemError("map a perf ring of " + std::to_string(data_bytes) + " bytes");
  return PerfRing(Mapping(address, bytes));
}

PerfRing::PerfRing(Mapping mapping)
    : mapping_(std::move(mapping)),
      data_(mapping_.data() + PageSize()),
      size_(mapping_.size() - PageSize()) {
  OFFCPU_CHECK(size_ != 0 && (size_ & (size_ - 1)) == 0);
}

perf_event_mmap_page* PerfRing::header() const {
  return reinterpret_cast<perf_event_mmap_page*>(mapping_.data());
}

uint64_t PerfRing::Head() const {
  return std::atomic_ref<decltype(header()->data_head)>(header()->data_head)
      .load(std::memory_order_acquire);
}

std::span<const std::byte> PerfRing::RecordAt(uint64_t position, uint64_t available) {
  perf_event_header record;
  if (available < sizeof(record)) return {};
  const size_t begin = position & (size_ - 1);
  const size_t to_end = size_ - begin;
  // Records are multiples of 8 bytes, so a header never wraps.
  if (to_end < sizeof(record)) return {};
  std::memcpy(&record, data_ + begin, sizeof(record));
  if (record.size < sizeof(record) || record.size > available || record.size > size_) return {};
  if (record.size <= to_end) return {data_ + begin, record.size};
  wrapped_.resize(kMaxRecordBytes);
  std::memcpy(wrapped_.data(), data_ + begin, to_end);
  std::memcpy(wrapped_.data() + to_end, data_, record.size - to_end);
  return {wrapped_.data(), record.size};
}

void PerfRing::Release(uint64_t new_tail) {
  tail_ = new_tail;
  std::atomic_ref<decltype(header()->data_tail)>(header()->data_tail)
      .store(new_tail, std::memory_order_release);
}

}  // namespace offcpu::source::perf
