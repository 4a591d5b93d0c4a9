// SPDX-License-Identifier: MIT
#include "jfr/recording.h"

#include <optional>
#include <string_view>
#include <utility>

namespace offcpu::jfr {
namespace {

constexpr uint8_t kHeaderChanges = 255;  // the state while the header is rewritten
constexpr int kMaxHeaderReads = 100;

// A live chunk's header is valid when the state before it and behind it is one and not "changing".
// Where it never is (its JVM died right then), the last reading has to do: all it says is checked
// against the file.
std::optional<ChunkHeader> ReadHeader(Input* input, uint64_t begin) {
  std::optional<ChunkHeader> before;
  for (int i = 0; i < kMaxHeaderReads; ++i) {
    auto header = ParseHeader(input->At(begin, kHeaderBytes));
    if (!header || header->finished()) return header;
    const bool steady = before && before->state == header->state && before->size == header->size;
    if (steady && header->state != kHeaderChanges) return header;
    before = header;
    input->Forget();
  }
  return before;
}

bool Acceptable(const ChunkHeader& header) {
  return (header.major == 1 || header.major == 2) && header.ticks_per_second != 0;
}

Error NoRecording(const std::string& name, Magic magic) {
  const auto packed = [&name](std::string_view how, std::string_view hint) {
    return Failed("read " + name + ": compressed with " + std::string(how), std::string(hint));
  };
  switch (magic) {
    case Magic::kGzip:
      return packed("gzip",
                    "gunzip it; a recording of a JDK before 9 has another format inside, which "
                    "is not read");
    case Magic::kZstd: return packed("zstd", "unpack it with unzstd");
    case Magic::kLz4: return packed("lz4", "unpack it with unlz4");
    case Magic::kZip: return packed("zip", "unpack it with unzip");
    default: return Failed("read " + name + ": not a JFR recording");
  }
}

std::string Counted(uint64_t count, std::string_view one, std::string_view many,
                    std::string_view what) {
  return std::to_string(count) + " " + std::string(count == 1 ? one : many) + " " +
         std::string(what);
}

}  // namespace

bool Damage::any() const {
  return unfinished_chunks != 0 || cut_chunks != 0 || broken_chunks != 0 ||
         chunks_without_metadata != 0 || checkpoints != 0 || lost_bytes != 0 || !reading.empty();
}

std::vector<std::string> Damage::Lines() const {
  std::vector<std::string> lines;
  const auto add = [&lines](uint64_t count, std::string_view one, std::string_view many,
                            std::string_view what) {
    if (count != 0) lines.push_back(Counted(count, one, many, what));
  };
  add(unfinished_chunks, "chunk was", "chunks were", "never finished");
  add(cut_chunks, "chunk is", "chunks are", "cut off by the end of the file");
  add(broken_chunks, "chunk has", "chunks have", "an event of an impossible size");
  add(chunks_without_metadata, "chunk does", "chunks do", "not say what its events are");
  add(checkpoints, "checkpoint", "checkpoints", "can't be read");
  add(lost_bytes, "byte", "bytes", "lost");
  if (!reading.empty()) lines.push_back(reading);
  return lines;
}

Result<Recording> Recording::Open(const std::string& path) {
  auto input = Input::Open(path);
  if (!input) return input.error();
  return Start(std::move(*input), path);
}

Result<Recording> Recording::FromMemory(std::span<const std::byte> bytes, const std::string& name) {
  return Start(Input::FromMemory(bytes), name);
}

Recording::Recording(Input input) : input_(std::make_unique<Input>(std::move(input))) {}

Result<Recording> Recording::Start(Input input, const std::string& name) {
  Recording recording(std::move(input));
  const auto first = recording.input_->At(0, kHeaderBytes);
  const Magic magic = LookAtMagic(first);
  if (!recording.input_->failure().empty()) {
    return Failed(name + ": " + recording.input_->failure());
  }
  if (magic != Magic::kChunk) return NoRecording(name, magic);
  const auto header = ParseHeader(first);
  if (!header) return Failed("read " + name + ": ends within the first header");
  if (Acceptable(*header)) return recording;
  if (header->ticks_per_second == 0) return Failed("read " + name + ": its clock has no frequency");
  return Failed("read " + name + ": version " + std::to_string(header->major) + "." +
                std::to_string(header->minor) + " of JFR is not read");
}

std::unique_ptr<Chunk> Recording::NextChunk() {
  if (next_ >= input_->size()) return nullptr;
  const auto header = ReadHeader(input_.get(), next_);
  if (!header || !Acceptable(*header)) {
    Stop();
    return nullptr;
  }
  auto chunk = Chunk::Load(input_.get(), next_, *header);
  next_ = chunk->end();
  Add(chunk->damage());
  return chunk;
}

void Recording::Add(const ChunkDamage& damage) {
  damage_.unfinished_chunks += damage.unfinished;
  damage_.cut_chunks += damage.cut;
  damage_.broken_chunks += damage.broken;
  damage_.chunks_without_metadata += damage.no_metadata;
  damage_.checkpoints += damage.checkpoints;
  damage_.lost_bytes += damage.lost_bytes;
  damage_.reading = input_->failure();
}

// What follows can't be found: there is no chunk where one should begin.
void Recording::Stop() {
  damage_.lost_bytes += input_->size() - next_;
  damage_.reading = input_->failure();
  next_ = input_->size();
}

}  // namespace offcpu::jfr
