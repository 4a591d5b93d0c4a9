// SPDX-License-Identifier: MIT
#include "jfr/pools.h"

#include <algorithm>
#include <random>

namespace offcpu::jfr {
namespace {

__extension__ using Wide = unsigned __int128;

// All pools' layouts together: real chunks need some hundred steps.
constexpr size_t kMaxLayoutSteps = 256U << 10;
// Offsets of entries are 32 bits wide.
constexpr uint64_t kMaxPoolBytes = UINT32_MAX;

uint64_t Mix(uint64_t key) {
  key = (key ^ key >> 32) * 0x9e3779b97f4a7c15;
  key = (key ^ key >> 29) * 0xbf58476d1ce4e5b9;
  return key ^ key >> 32;
}

}  // namespace

Pools::Pools(const Metadata* metadata, bool compressed)
    : metadata_(metadata),
      compressed_(compressed),
      seed_(std::random_device{}()),
      tables_(metadata->types().size()),
      layouts_(metadata->types().size()),
      refused_(metadata->types().size()),
      steps_left_(kMaxLayoutSteps) {}

void Pools::Load(Input* input, const Extent& extent, std::span<const CheckpointPlace> places) {
  ReadBlocks(input, extent, places);
  // Counted before it is indexed, so that no table ever grows.
  for (const Block& block : blocks_) {
    if (!WalkCheckpoint(block, Pass::kCount)) ++damaged_checkpoints_;
  }
  MakeTables();
  for (const Block& block : blocks_) (void)WalkCheckpoint(block, Pass::kIndex);
}

void Pools::ReadBlocks(Input* input, const Extent& extent,
                       std::span<const CheckpointPlace> places) {
  uint64_t total = 0;
  for (const CheckpointPlace& place : places) total += place.size;
  bytes_.reserve(static_cast<size_t>(std::min(total, kMaxPoolBytes)));
  blocks_.reserve(places.size());
  for (const CheckpointPlace& place : places) {
    const auto size = static_cast<size_t>(place.size);
    const auto bytes = size <= kMaxPoolBytes - bytes_.size()
                           ? input->At(extent.begin + place.offset, size)
                           : std::span<const std::byte>();
    if (bytes.size() < size) {
      ++damaged_checkpoints_;
      continue;
    }
    blocks_.push_back({static_cast<uint32_t>(bytes_.size()), static_cast<uint32_t>(size)});
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
  }
}

bool Pools::WalkCheckpoint(const Block& block, Pass pass) {
  Wire wire = At(block.begin, block.size);
  (void)wire.Long();  // start
  (void)wire.Long();  // duration
  (void)wire.Long();  // distance to the checkpoint before
  wire.Skip(1);       // kind
  const uint64_t pools = wire.Count();
  for (uint64_t i = 0; i < pools; ++i) {
    if (!wire.ok() || !WalkPool(&wire, block, pass)) return false;
  }
  return wire.ok();
}

// False where the values' lengths are unknown: what follows in the checkpoint can't be found.
bool Pools::WalkPool(Wire* wire, const Block& block, Pass pass) {
  const uint64_t id = wire->Key();
  const uint64_t count = wire->Count();
  if (!wire->ok() || count > wire->remaining()) return false;
  if (count == 0) return true;
  const TypeIndex type = metadata_->ById(id);
  const Layout* layout = type == kNoType ? nullptr : LayoutOf(type);
  if (layout == nullptr) return false;
  for (uint64_t i = 0; i < count; ++i) {
    const auto at = static_cast<uint32_t>(block.begin + wire->position());
    const uint64_t key = wire->Key();
    layout->Skip(wire);
    if (!wire->ok()) return false;
    if (layout->steps() == 0) continue;  // nothing to look up
    if (pass == Pass::kCount) {
      ++tables_[type].entries;
    } else {
      Insert(type, at, key);
    }
  }
  return true;
}

void Pools::MakeTables() {
  for (Table& table : tables_) {
    if (table.entries > 0) table.slots.resize(table.entries + table.entries / 3 + 1);
    table.entries = 0;
  }
}

void Pools::Insert(TypeIndex type, uint32_t at, uint64_t key) {
  Table& table = tables_[type];
  uint32_t& slot = table.slots[Place(table, key)];
  if (slot != 0) return;
  slot = at + 1;
  ++table.entries;
}

// Where `key` is, or the free place where it would be. There is a free one always.
size_t Pools::Place(const Table& table, uint64_t key) const {
  const size_t size = table.slots.size();
  auto place = static_cast<size_t>(Wide{Mix(key ^ seed_)} * size >> 64);
  while (table.slots[place] != 0 && KeyAt(table.slots[place] - 1) != key) {
    if (++place == size) place = 0;
  }
  return place;
}

Wire Pools::At(size_t begin, size_t size) const {
  return Wire(std::span<const std::byte>(bytes_).subspan(begin, size), compressed_);
}

uint64_t Pools::KeyAt(uint32_t at) const { return At(at, bytes_.size() - at).Key(); }

std::optional<Wire> Pools::Find(TypeIndex type, uint64_t key) const {
  if (type == kNoType || tables_[type].entries == 0) return std::nullopt;
  const Table& table = tables_[type];
  const uint32_t slot = table.slots[Place(table, key)];
  if (slot == 0) return std::nullopt;
  Wire wire = At(slot - 1, bytes_.size() - (slot - 1));
  (void)wire.Key();
  return wire;
}

uint64_t Pools::Count(TypeIndex type) const { return type == kNoType ? 0 : tables_[type].entries; }

const Layout* Pools::LayoutOf(TypeIndex type) {
  std::unique_ptr<Layout>& known = layouts_[type];
  if (known || refused_[type]) return known.get();
  auto layout = Layout::Compile(*metadata_, type, {}, std::min(steps_left_, Layout::kMaxSteps));
  if (!layout) {
    refused_[type] = true;
    return nullptr;
  }
  steps_left_ -= layout->steps();
  known = std::make_unique<Layout>(std::move(*layout));
  return known.get();
}

}  // namespace offcpu::jfr
