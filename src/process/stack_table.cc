// SPDX-License-Identifier: MIT
#include "process/stack_table.h"

#include <algorithm>
#include <utility>

namespace offcpu::process {
namespace {

// Multiply-and-fold: good enough for addresses, and a few ns for a chain of thirty.
uint64_t Mix(uint64_t hash, uint64_t value) {
  const unsigned __int128 product =
      static_cast<unsigned __int128>(hash ^ value) * 0x9E3779B97F4A7C15ULL;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// Four chains of multiplications side by side: one alone would wait for each result.
uint64_t HashOf(std::span<const uint64_t> addresses, uint64_t seed) {
  uint64_t lanes[4] = {seed, seed + 1, seed + 2, seed + 3};
  size_t i = 0;
  for (; i + 4 <= addresses.size(); i += 4) {
    for (size_t lane = 0; lane < 4; ++lane) lanes[lane] = Mix(lanes[lane], addresses[i + lane]);
  }
  for (; i < addresses.size(); ++i) lanes[0] = Mix(lanes[0], addresses[i]);
  return Mix(Mix(lanes[0], lanes[1]), Mix(lanes[2], lanes[3]));
}

}  // namespace

StackTable::StackTable(ProcessTable& processes, size_t max_stacks)
    : processes_(processes), max_stacks_(max_stacks), entries_(kFirstStack), slots_(1024) {}

model::StackIds StackTable::Intern(model::Pid pid, const model::CallChain& chain) {
  // The user half is the outer one, so it is where a chain that is too long was cut.
  const bool user_cut = chain.truncated && !chain.user.empty();
  model::StackIds ids;
  ids.kernel = InternHalf(chain.kernel, 0, chain.truncated && !user_cut);
  ids.user = InternHalf(chain.user, pid, user_cut);
  return ids;
}

model::StackId StackTable::InternHalf(std::span<const uint64_t> addresses, model::Pid pid,
                                      bool truncated) {
  if (addresses.empty()) return 0;
  Recent& recent = RecentOf(addresses, pid);
  const Entry& last = entries_[recent.id];
  const bool still_valid = pid == 0 || recent.generations == processes_.generations();
  if (still_valid && last.pid == pid && last.truncated == truncated &&
      SameAddresses(last, addresses)) {
    return recent.id;
  }
  Entry key;
  key.length = static_cast<uint32_t>(addresses.size());
  key.pid = pid;
  key.generation = pid == 0 ? 0 : processes_.Generation(pid);
  key.truncated = truncated;
  const model::StackId id = Find(key, addresses);
  if (id >= kFirstStack) recent = {id, processes_.generations()};
  return id;
}

StackTable::Recent& StackTable::RecentOf(std::span<const uint64_t> addresses, model::Pid pid) {
  const uint64_t few = addresses.front() + 3 * addresses[addresses.size() / 2] +
                       5 * addresses.back() + 7 * addresses.size() + static_cast<uint32_t>(pid);
  return recent_[Mix(few, 0) % recent_.size()];
}

model::StackId StackTable::Find(Entry& key, std::span<const uint64_t> addresses) {
  const uint64_t seed =
      Mix(static_cast<uint32_t>(key.pid), key.generation * 2 + (key.truncated ? 1 : 0));
  key.hash = HashOf(addresses, seed);
  const size_t mask = slots_.size() - 1;
  for (size_t slot = key.hash & mask; slots_[slot] != 0; slot = (slot + 1) & mask) {
    const Entry& entry = entries_[slots_[slot]];
    const bool same_kind = entry.hash == key.hash && entry.pid == key.pid &&
                           entry.generation == key.generation && entry.truncated == key.truncated;
    if (same_kind && SameAddresses(entry, addresses)) return slots_[slot];
  }
  return Add(key, addresses);
}

bool StackTable::SameAddresses(const Entry& entry, std::span<const uint64_t> addresses) const {
  return entry.length == addresses.size() &&
         std::equal(addresses.begin(), addresses.end(),
                    addresses_.begin() + static_cast<ptrdiff_t>(entry.begin));
}

model::StackId StackTable::Add(const Entry& key, std::span<const uint64_t> addresses) {
  if (size() >= max_stacks_) {
    ++overflows_;
    return kOverflowStack;
  }
  if (entries_.size() * 2 > slots_.size()) Grow();
  const auto id = static_cast<model::StackId>(entries_.size());
  entries_.push_back(key);
  entries_.back().begin = addresses_.size();
  addresses_.insert(addresses_.end(), addresses.begin(), addresses.end());
  size_t slot = key.hash & (slots_.size() - 1);
  while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
  slots_[slot] = id;

  model::RawStack stack{id, key.pid, key.pid == 0, key.truncated, {}};
  stack.frames.reserve(addresses.size());
  for (size_t i = 0; i < addresses.size(); ++i) {
    model::RawFrame frame{addresses[i], 0, 0};
    // A return address may lie just behind the end of its function, or of its mapping.
    const uint64_t inside = i == 0 ? addresses[i] : addresses[i] - 1;
    if (const MappedRange* range = key.pid == 0 ? nullptr : processes_.FindRange(key.pid, inside)) {
      frame.module = range->module;
      frame.offset = addresses[i] - range->start + range->file_offset;
    }
    stack.frames.push_back(frame);
  }
  new_stacks_.push_back(std::move(stack));
  return id;
}

void StackTable::Grow() {
  std::vector<model::StackId> slots(slots_.size() * 2);
  const size_t mask = slots.size() - 1;
  for (model::StackId id = kFirstStack; id < entries_.size(); ++id) {
    size_t slot = entries_[id].hash & mask;
    while (slots[slot] != 0) slot = (slot + 1) & mask;
    slots[slot] = id;
  }
  slots_ = std::move(slots);
}

std::vector<model::RawStack> StackTable::TakeNewStacks() { return std::exchange(new_stacks_, {}); }

}  // namespace offcpu::process
