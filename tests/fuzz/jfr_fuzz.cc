// SPDX-License-Identifier: MIT
// Any bytes as a JFR recording, by themselves and behind the header of a chunk that reaches to
// their end, which the fuzzer need not find; in both forms of integers. Everything is read: all
// events, fields, threads and stacks. Built with clang++ -fsanitize=fuzzer,address,undefined.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "jfr/listing.h"
#include "jfr/recording.h"
#include "tests/support/jfr_builder.h"

namespace {

using namespace offcpu::jfr;

void ReadChunk(const Chunk& chunk) {
  Selection selection;
  selection.AddAllOf(chunk);
  Names names(&chunk);
  EventCursor cursor(&chunk, &selection, &names);
  uint64_t selected = cursor.unreadable_events();
  while (const Event* event = cursor.Next()) {
    (void)EventRow(chunk, selection, cursor, *event, &names);
    ++selected;
  }
  // What was counted is what comes: each event either as a row or as unreadable.
  uint64_t counted = 0;
  for (const uint64_t count : chunk.counts()) counted += count;
  if (selected + cursor.unreadable_events() != counted) std::abort();
}

void ReadAll(const std::string& bytes) {
  auto recording =
      Recording::FromMemory({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "x");
  if (!recording) return;
  while (const auto chunk = recording->NextChunk()) ReadChunk(*chunk);
  if (recording->damage().any() == recording->damage().Lines().empty()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  ReadAll(input);
  for (const bool compressed : {true, false}) {
    offcpu::test::JfrChunk chunk(compressed);
    chunk.Raw(input);
    ReadAll(chunk.Bytes());
  }
  return 0;
}
