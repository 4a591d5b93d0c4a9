// SPDX-License-Identifier: MIT
#include "source/replay/perf_file.h"

#include <algorithm>
#include <utility>

#include "source/replay/file_bytes.h"

namespace offcpu::source::replay {
namespace {

constexpr size_t kPipeHeader = 16;
constexpr size_t kFileHeader = 104;      // with the bits of the features
constexpr size_t kFileHeaderShort = 72;  // without
constexpr size_t kMaxEvents = 30'000;
constexpr uint64_t kMaxFeature = 64U << 20;

struct Section {
  uint64_t offset = 0;
  uint64_t size = 0;
};

struct FileHeader {
  uint64_t size = 0;
  uint64_t attr_size = 0;  // of an attribute with the section of its ids
  Section attrs;
  Section data;
  std::vector<uint32_t> features;
};

Section ReadSection(FileBytes& bytes) {
  Section section;
  section.offset = bytes.Read<uint64_t>();
  section.size = bytes.Read<uint64_t>();
  return section;
}

Error Damaged(const std::string& what) {
  return Failed("the recording is damaged: " + what, "record again, or copy the file again");
}

// The bytes of a section as far as the file has them.
std::vector<std::byte> ReadPart(Input& input, Section section, uint64_t limit) {
  if (section.offset > input.size().value_or(0)) return {};
  input.SeekTo(section.offset);
  return input.Read(std::min(section.size, limit));
}

FileHeader ParseHeader(std::span<const std::byte> head, bool swap) {
  FileBytes bytes(head, swap);
  FileHeader header;
  bytes.Skip(8);
  header.size = bytes.Read<uint64_t>();
  header.attr_size = bytes.Read<uint64_t>();
  header.attrs = ReadSection(bytes);
  header.data = ReadSection(bytes);
  ReadSection(bytes);  // names of events, not written since 2012
  if (header.size < kFileHeader) return header;
  for (uint32_t word = 0; word < 4; ++word) {
    const auto bits = bytes.Read<uint64_t>();
    for (uint32_t bit = 0; bit < 64; ++bit) {
      if ((bits >> bit & 1) != 0) header.features.push_back(word * 64 + bit);
    }
  }
  return header;
}

std::vector<uint64_t> ReadIds(std::span<const std::byte> data, bool swap) {
  FileBytes bytes(data, swap);
  std::vector<uint64_t> ids;
  while (bytes.remaining() >= sizeof(uint64_t)) ids.push_back(bytes.Read<uint64_t>());
  return ids;
}

Result<void> ReadEvents(Input& input, const FileHeader& header, PerfFile* file) {
  const auto attrs = ReadPart(input, header.attrs, kMaxFeature);
  if (attrs.size() < header.attrs.size) return Damaged("it ends before its events do");
  if (header.attr_size < kSmallestAttr + 16) return Damaged("its events have no usable size");
  std::span<const std::byte> left(attrs);
  uint64_t room = *input.size();  // all ids together; sections that overlap are made up
  while (left.size() >= header.attr_size && file->events.size() < kMaxEvents) {
    const auto one = left.first(header.attr_size);
    auto attr = ParseAttr(one.first(one.size() - 16), file->swap);
    if (!attr) return attr.error();
    FileBytes ids_at(one.last(16), file->swap);
    const Section ids = ReadSection(ids_at);
    const auto bytes = ReadPart(input, ids, room);
    if (bytes.size() < ids.size) return Damaged("it ends before the ids of its events do");
    room -= bytes.size();
    file->events.push_back({*attr, ReadIds(bytes, file->swap), {}});
    left = left.subspan(header.attr_size);
  }
  if (file->events.empty()) return Damaged("it has no events");
  return {};
}

void ReadFeatures(Input& input, const FileHeader& header, PerfFile* file) {
  const uint64_t table = header.data.offset + header.data.size;
  const auto sections = ReadPart(input, {table, header.features.size() * 16}, kMaxFeature);
  FileBytes bytes(sections, file->swap);
  for (const uint32_t number : header.features) {
    const Section section = ReadSection(bytes);
    if (!bytes.ok()) {
      file->damages.emplace_back("it ends before what perf writes at the end");
      return;
    }
    const auto data =
        UsesFeature(number) ? ReadPart(input, section, kMaxFeature) : std::vector<std::byte>();
    if (auto read = ReadFeature(number, data, file->swap, file); !read) {
      file->damages.push_back(read.error().message);
    }
  }
}

// Is this number meant in the other byte order? It is a small one.
bool LooksSwapped(std::span<const std::byte> at) {
  const auto value = LoadInteger<uint64_t>(at.data(), false);
  return value > SwapBytes(value);
}

}  // namespace

Result<PerfEvent> ReadEventRecord(std::span<const std::byte> body, bool swap) {
  const size_t size = AttrSize(body, swap);
  if (size == 0 || size > body.size()) return Damaged("an event has no usable attributes");
  auto attr = ParseAttr(body, swap);
  if (!attr) return attr.error();
  return PerfEvent{*attr, ReadIds(body.subspan(size), swap), {}};
}

Result<PerfFile> ReadPerfFile(Input& input) {
  const auto head = input.Peek(kFileHeader);
  if (head.size() < kPipeHeader) return Damaged("it ends within its first bytes");
  PerfFile file;
  file.swap = LooksSwapped(head.subspan(8));
  const auto size = LoadInteger<uint64_t>(head.data() + 8, file.swap);
  if (size == kPipeHeader) {
    file.pipe = true;
    input.Consume(kPipeHeader);
    return file;
  }
  if (size < kFileHeaderShort || head.size() < std::min<uint64_t>(size, kFileHeader)) {
    return Damaged("it ends within its first bytes");
  }
  if (!input.seekable()) {
    return Failed("a recording of this layout cannot be read from a pipe",
                  "save it as a file, or let perf write the other layout: perf record -o - ...");
  }
  const FileHeader header = ParseHeader(head, file.swap);
  if (header.data.offset > *input.size()) return Damaged("it ends before its data begin");
  if (auto read = ReadEvents(input, header, &file); !read) return read.error();
  file.ended = header.data.size != 0;
  if (file.ended) {
    file.data_size = header.data.size;
    if (header.data.size <= *input.size() - header.data.offset) {
      ReadFeatures(input, header, &file);
    } else {
      file.damages.emplace_back("it ends before what perf writes at the end");
    }
  }
  input.SeekTo(header.data.offset);
  return file;
}

}  // namespace offcpu::source::replay
