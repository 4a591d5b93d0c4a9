// SPDX-License-Identifier: MIT
#include "source/replay/record_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "source/replay/file_bytes.h"

namespace offcpu::source::replay {
namespace {

constexpr size_t kHeadBytes = 8;
constexpr size_t kMaxRecord = 1U << 16;
constexpr size_t kUnpackedBlock = 512U << 10;

}  // namespace

RecordStream::RecordStream(Input& input, std::optional<uint64_t> size, bool swap)
    : input_(input),
      end_(size && *size < ~input.position() ? input.position() + *size : ~uint64_t{0}),
      swap_(swap) {}

uint64_t RecordStream::Left() const {
  const uint64_t position = input_.position() + to_consume_;
  return end_ > position ? end_ - position : 0;
}

RecordStream::Found RecordStream::Cut(std::span<const std::byte> bytes, Record* record) const {
  if (bytes.size() < kHeadBytes) return Found::kNothing;
  const auto size = LoadInteger<uint16_t>(bytes.data() + 6, swap_);
  if (size < kHeadBytes) return Found::kDamaged;
  if (bytes.size() < size) return Found::kNothing;
  record->type = LoadInteger<uint32_t>(bytes.data(), swap_);
  record->misc = LoadInteger<uint16_t>(bytes.data() + 4, swap_);
  record->bytes = bytes.first(size);
  return Found::kRecord;
}

bool RecordStream::Next(Record* record) {
  for (;;) {
    if (!damage_.empty()) return false;
    if (NextUnpacked(record)) {
      // Only the outermost records are packed.
      if (record->type != kCompressed && record->type != kCompressed2) return true;
      damage_ = "a compressed record lies in another one";
      return false;
    }
    if (!damage_.empty() || !NextPlain(record)) return false;
    if (record->type == kCompressed || record->type == kCompressed2) {
      StartUnpacking(*record);
      continue;
    }
    if (record->type != kAuxTrace) return true;
    if (!SkipAuxTrace(*record)) return false;
  }
}

bool RecordStream::NextPlain(Record* record) {
  input_.Consume(std::exchange(to_consume_, 0));
  const auto bytes = input_.Peek(static_cast<size_t>(std::min<uint64_t>(Left(), kMaxRecord)));
  switch (Cut(bytes, record)) {
    case Found::kRecord: to_consume_ = record->bytes.size(); return true;
    case Found::kDamaged:
      damage_ = "a record at byte " + std::to_string(input_.position()) + " has no length";
      return false;
    case Found::kNothing: break;
  }
  if (!bytes.empty()) damage_ = "it ends in the middle of a record";
  if (bytes.empty() && end_ != ~uint64_t{0} && Left() > 0) damage_ = "it ends before its data do";
  if (bytes.empty() && unpacked_end_ > unpacked_begin_ && damage_.empty()) {
    damage_ = "its compressed data end in the middle of a record";
  }
  if (input_.error()) damage_ = input_.error()->message;
  return false;
}

void RecordStream::StartUnpacking(const Record& record) {
  ++compressed_records_;
  auto packed = record.body();
  if (record.type == kCompressed2) {  // its data are padded, so their length comes first
    FileBytes body(packed, swap_);
    const auto size = body.Read<uint64_t>();
    packed = body.Take(static_cast<size_t>(std::min<uint64_t>(size, body.remaining())));
  }
  zstd_.SetInput(packed);
}

bool RecordStream::NextUnpacked(Record* record) {
  if (compressed_records_ == 0) return false;
  for (;;) {
    const std::span<const std::byte> held(unpacked_.data() + unpacked_begin_,
                                          unpacked_end_ - unpacked_begin_);
    switch (Cut(held, record)) {
      case Found::kRecord: unpacked_begin_ += record->bytes.size(); return true;
      case Found::kDamaged: damage_ = "a compressed record has no length"; return false;
      case Found::kNothing: break;
    }
    // The rest of a record may come with the next compressed one.
    if (unpacked_.empty()) unpacked_.resize(kUnpackedBlock);
    if (!held.empty()) std::memmove(unpacked_.data(), held.data(), held.size());
    unpacked_begin_ = 0;
    unpacked_end_ = held.size();
    const size_t count = zstd_.Read(std::span(unpacked_).subspan(unpacked_end_));
    unpacked_end_ += count;
    if (count == 0) {
      if (zstd_.failed()) damage_ = "its compressed data are damaged";
      return false;
    }
  }
}

bool RecordStream::SkipAuxTrace(const Record& record) {
  const auto size = FileBytes(record.body(), swap_).Read<uint64_t>();
  if (size <= Left()) {
    input_.Consume(std::exchange(to_consume_, 0));
    if (input_.Skip(size)) {
      return true;
    }
  }
  damage_ = "its AUX data are cut short";
  return false;
}

std::vector<std::byte> RecordStream::ReadPayload(uint64_t size) {
  input_.Consume(std::exchange(to_consume_, 0));
  const uint64_t padded = size > ~uint64_t{7} ? size : (size + 7) & ~uint64_t{7};
  std::vector<std::byte> payload = input_.Read(std::min(padded, Left()));
  if (payload.size() > size) payload.resize(static_cast<size_t>(size));
  return payload;
}

}  // namespace offcpu::source::replay
