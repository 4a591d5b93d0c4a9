// SPDX-License-Identifier: MIT
#include "record/sampled_places.h"

#include <algorithm>
#include <utility>

#include "profile/histogram.h"

namespace offcpu::record {
namespace {

model::SymbolFrame Marker(std::string name) {
  return {model::FrameKind::kMarker, false, std::move(name), {}};
}

std::string CallMarker(const SampledPlace& place) {
  return "[syscall " +
         (place.name.empty() ? std::to_string(place.syscall) : std::string(place.name)) + "]";
}

std::vector<model::SymbolFrame> StackOf(const SampledPlace& place) {
  std::vector<model::SymbolFrame> stack;
  if (!place.wanted) return stack;
  if (place.syscall >= 0) stack.push_back(Marker(CallMarker(place)));
  if (place.kernel.empty()) stack.push_back(Marker("[place unknown]"));
  for (auto name = place.kernel.rbegin(); name != place.kernel.rend(); ++name) {
    stack.push_back({model::FrameKind::kKernel, false, *name, "[kernel]"});
  }
  return stack;
}

std::string KeyOf(const SampledPlace& place, const std::vector<model::SymbolFrame>& stack) {
  std::string key = std::to_string(place.thread) + ' ' + std::to_string(place.task_state);
  for (std::string_view name : {place.comm, place.process}) (key += '\0') += name;
  for (const model::SymbolFrame& frame : stack) (key += '\0') += frame.name;
  return key;
}

}  // namespace

std::vector<Nanos> ShareOut(Nanos total, const std::vector<uint64_t>& weights) {
  unsigned __int128 sum = 0;
  for (const uint64_t weight : weights) sum += weight;
  std::vector<Nanos> parts(weights.size());
  unsigned __int128 reached = 0;
  Nanos given = 0;
  for (size_t i = 0; i < weights.size() && sum != 0; ++i) {
    reached += weights[i];
    const auto until = static_cast<Nanos>(total * reached / sum);
    parts[i] = until - given;
    given = until;
  }
  return parts;
}

SampledPlaces::CellId SampledPlaces::Find(const SampledPlace& place) {
  std::vector<model::SymbolFrame> stack = StackOf(place);
  std::string key = KeyOf(place, stack);
  if (const auto known = ids_.find(key); known != ids_.end()) return known->second;
  Cell cell;
  cell.task_state = place.task_state;
  cell.comm = place.comm;
  cell.process = place.process;
  cell.stack = std::move(stack);
  if (cells_.size() >= max_cells_) {
    cell.stack = {Marker("[too many stacks]")};
    SampledPlace shared;
    shared.thread = place.thread;
    shared.task_state = place.task_state;
    key = KeyOf(shared, cell.stack);
    if (const auto known = ids_.find(key); known != ids_.end()) return known->second;
  }
  const auto id = static_cast<CellId>(cells_.size());
  cells_.push_back(std::move(cell));
  ids_.emplace(std::move(key), id);
  if (place.thread >= by_thread_.size()) by_thread_.resize(place.thread + 1);
  by_thread_[place.thread].push_back(id);
  return id;
}

void SampledPlaces::Add(CellId id, Nanos at, uint32_t weight) {
  Cell& cell = cells_[id];
  const unsigned shift = profile::WhenShift(at + 1, cell.when_shift);
  cell.when.Fold(shift - cell.when_shift);
  cell.when_shift = shift;
  cell.when.Add(static_cast<uint32_t>((at / profile::kMinWhenBucket) >> shift), weight);
  ++cell.samples;
  cell.weight += weight;
}

uint64_t SampledPlaces::SamplesOf(model::ThreadRow thread) const {
  if (thread >= by_thread_.size()) return 0;
  uint64_t samples = 0;
  for (const CellId id : by_thread_[thread]) samples += cells_[id].samples;
  return samples;
}

profile::Entry SampledPlaces::EntryOf(const Cell& cell, Nanos time, unsigned shift,
                                      profile::Interner* names) const {
  profile::Entry entry;
  entry.kernel_stack = names->AddStack(cell.stack);
  entry.reason = model::Reason::kBlocked;
  entry.task_state = cell.task_state;
  entry.comm = names->AddString(cell.comm);
  entry.process = names->AddString(cell.process);
  entry.intervals = cell.samples;
  entry.observed_ns = entry.estimated_ns = entry.sleeping_ns = time;
  profile::SmallHistogram folded = cell.when;
  folded.Fold(shift - cell.when_shift);
  std::vector<uint64_t> weights;
  const profile::Histogram when = folded.Get();
  for (const auto& [bucket, weight] : when) weights.push_back(weight);
  const std::vector<Nanos> parts = record::ShareOut(time, weights);
  for (size_t i = 0; i < when.size(); ++i) {
    if (parts[i] != 0) entry.when.emplace_back(when[i].first, parts[i]);
  }
  return entry;
}

// Spread over the thread's life.
SampledPlaces::Cell SampledPlaces::NotSampled(const SampledThread& account, unsigned shift) {
  Cell cell;
  cell.stack = {Marker("[not sampled]")};
  cell.task_state = model::kTaskUnknownState;
  const Nanos width = profile::kMinWhenBucket << shift;
  for (Nanos bucket = account.first_ns / width; bucket * width < account.last_ns; ++bucket) {
    cell.when.Add(static_cast<uint32_t>(bucket), 1);
  }
  cell.when_shift = shift;
  cell.weight = 1;
  return cell;
}

SampledPlaces::Shares SampledPlaces::ShareOut(model::ThreadRow thread, const SampledThread& account,
                                              const sched::StateFilter& states, Nanos window_ns,
                                              profile::Interner* names) const {
  Shares shares;
  if (account.sleeping_ns == 0) return shares;
  const unsigned shift = profile::WhenShift(window_ns);
  std::vector<Cell> cells;
  if (SamplesOf(thread) == 0) {
    cells.push_back(NotSampled(account, shift));
    cells.back().comm = account.comm;
    cells.back().process = account.process;
  } else {
    for (const CellId id : by_thread_[thread]) cells.push_back(cells_[id]);
  }
  std::vector<uint64_t> weights;
  for (const Cell& cell : cells) weights.push_back(cell.weight);
  const std::vector<Nanos> parts = record::ShareOut(account.sleeping_ns, weights);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (states.Matches(cells[i].task_state, /*preempted=*/false)) {
      shares.entries.push_back(EntryOf(cells[i], parts[i], shift, names));
    } else {
      shares.rejected_ns += parts[i];
      shares.rejected_samples += cells[i].samples;
    }
  }
  return shares;
}

}  // namespace offcpu::record
