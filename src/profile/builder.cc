// SPDX-License-Identifier: MIT
#include "profile/builder.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "profile/canonical.h"
#include "profile/cell.h"
#include "profile/histogram.h"
#include "profile/interner.h"
#include "profile/validate.h"

namespace offcpu::profile {

namespace {

// Stands for both stacks of what joined after max_entries.
constexpr model::StackId kTooManyStacks = ~model::StackId{0};

model::SymbolFrame Marker(const char* name) { return {model::FrameKind::kMarker, false, name, {}}; }

// Open addressing: a power of two of places, each the number of a cell or 0, at most half of them
// taken.
class CellTable {
 public:
  CellTable() : places_(1024) {}

  // A thread's waits often repeat, so the one it had last is looked at first.
  Cell* Find(const CellKey& key) {
    if (key.thread >= last_.size()) last_.resize(key.thread + 1);
    uint32_t& last = last_[key.thread];
    if (last != 0 && cells_[last - 1].key == key) return &cells_[last - 1];
    const uint32_t number = places_[PlaceOf(key)];
    if (number == 0) return nullptr;
    last = number;
    return &cells_[number - 1];
  }

  Cell* Insert(const CellKey& key) {
    if (2 * (cells_.size() + 1) > places_.size()) Grow();
    cells_.emplace_back().key = key;
    places_[PlaceOf(key)] = static_cast<uint32_t>(cells_.size());
    return &cells_.back();
  }

  std::vector<Cell>& cells() { return cells_; }
  const std::vector<Cell>& cells() const { return cells_; }

 private:
  size_t PlaceOf(const CellKey& key) const {
    size_t place = HashOf(key) & (places_.size() - 1);
    while (places_[place] != 0 && !(cells_[places_[place] - 1].key == key)) {
      place = (place + 1) & (places_.size() - 1);
    }
    return place;
  }

  void Grow() {
    places_.assign(places_.size() * 2, 0);
    for (size_t i = 0; i < cells_.size(); ++i) {
      places_[PlaceOf(cells_[i].key)] = static_cast<uint32_t>(i + 1);
    }
  }

  std::vector<uint32_t> places_;
  std::vector<Cell> cells_;
  std::vector<uint32_t> last_;  // by thread row; 0: none
};

// Thread and process names to ids. A thread rarely changes its name, so the last ones of each
// thread are looked at first.
class NameTable {
 public:
  void Find(const model::Interval& interval, const model::Comm& process, CellKey* key) {
    if (interval.thread >= last_.size()) last_.resize(interval.thread + 1);
    Last& last = last_[interval.thread];
    if (names_[last.comm] != interval.comm) last.comm = Intern(interval.comm);
    if (names_[last.process] != process) last.process = Intern(process);
    key->comm = last.comm;
    key->process = last.process;
  }

  std::string_view Text(uint32_t id) const { return model::CommView(names_[id]); }

 private:
  struct Last {
    uint32_t comm = 0;
    uint32_t process = 0;
  };

  uint32_t Intern(const model::Comm& name) {
    auto [place, added] = ids_.emplace(model::CommView(name), static_cast<uint32_t>(names_.size()));
    if (added) names_.push_back(name);
    return place->second;
  }

  std::vector<model::Comm> names_{model::Comm{}};
  std::unordered_map<std::string, uint32_t> ids_{{std::string(), 0}};
  std::vector<Last> last_;  // by thread row
};

// Gives raw stacks their nodes, asking for the names of each once.
class StackNamer {
 public:
  StackNamer(Interner* interner, const StackNames& names) : interner_(interner), names_(names) {}

  NodeId Node(model::StackId stack) {
    if (stack == 0) return 0;
    auto [place, added] = nodes_.emplace(stack, 0);
    if (added) place->second = interner_->AddStack(Frames(stack));
    return place->second;
  }

 private:
  std::vector<model::SymbolFrame> Frames(model::StackId stack) const {
    if (stack == kTooManyStacks) return {Marker("[too many stacks]")};
    std::vector<model::SymbolFrame> frames = names_(stack);
    if (frames.size() > kMaxStackDepth) {  // keep what is next to the leaf
      frames.erase(frames.begin(), frames.end() - static_cast<ptrdiff_t>(kMaxStackDepth) + 1);
      frames.insert(frames.begin(), Marker("[truncated stack]"));
    }
    return frames;
  }

  Interner* interner_;
  const StackNames& names_;
  std::unordered_map<model::StackId, NodeId> nodes_;
};

}  // namespace

struct Builder::Impl {
  explicit Impl(Options given) : options(given) {}

  Cell* CellFor(const model::Interval& interval, const model::Comm& process);
  Entry TakeEntry(Cell* cell, unsigned shift, const std::vector<Thread>& threads,
                  Interner* interner, StackNamer* stacks) const;

  Options options;
  CellTable table;
  NameTable names;
  unsigned when_shift = 0;
  Nanos last_end = 0;         // of all intervals, from the window's start
  size_t too_many_cells = 0;  // of all, those that have no stacks of their own
  uint64_t merged_intervals = 0;
  Nanos merged_ns = 0;
};

Builder::Builder(Options options) : impl_(std::make_unique<Impl>(options)) {}
Builder::~Builder() = default;

size_t Builder::entry_count() const { return impl_->table.cells().size(); }

Cell* Builder::Impl::CellFor(const model::Interval& interval, const model::Comm& process) {
  CellKey key{.thread = interval.thread,
              .kernel_stack = interval.kernel_stack,
              .user_stack = interval.user_stack,
              .task_state = interval.task_state,
              .reason = interval.reason};
  names.Find(interval, process, &key);
  if (Cell* known = table.Find(key); known != nullptr) return known;
  if (table.cells().size() - too_many_cells < options.max_entries) return table.Insert(key);
  ++merged_intervals;
  merged_ns += interval.duration();
  key.kernel_stack = key.user_stack = kTooManyStacks;
  key.comm = key.process = 0;
  if (Cell* known = table.Find(key); known != nullptr) return known;
  ++too_many_cells;
  return table.Insert(key);
}

void Builder::Add(const model::Interval& interval, const model::TimeParts& parts,
                  const model::Comm& process) {
  const Nanos duration = interval.duration();
  OFFCPU_CHECK(impl_->options.window_start <= interval.start && interval.start <= interval.end);
  OFFCPU_CHECK(parts.sleeping + parts.runqueue + parts.unsplit == duration);
  Cell& cell = *impl_->CellFor(interval, process);
  ++cell.intervals;
  if (interval.left_open) {
    ++cell.left_open;
    const bool known = interval.since != 0 && interval.since < interval.start;
    if (known) cell.before_ns += interval.start - interval.since;
  }
  if (interval.right_open) ++cell.right_open;
  cell.observed_ns += duration;
  cell.runqueue_ns += parts.runqueue;
  cell.unsplit_ns += parts.unsplit;
  cell.max_ns = std::max(cell.max_ns, duration);
  cell.lengths.Add(LengthBucket(duration), 1);
  const Nanos from = interval.start - impl_->options.window_start;
  const Nanos to = from + duration;
  if (to > impl_->last_end) {
    impl_->last_end = to;
    impl_->when_shift = WhenShift(to, impl_->when_shift);
  }
  if (duration != 0) cell.AddWhen(from, to, impl_->when_shift);
}

Entry Builder::Impl::TakeEntry(Cell* cell, unsigned shift, const std::vector<Thread>& threads,
                               Interner* interner, StackNamer* stacks) const {
  const CellKey& key = cell->key;
  OFFCPU_CHECK(key.thread < threads.size());
  const bool too_many = key.user_stack == kTooManyStacks;
  Entry entry;
  entry.kernel_stack = stacks->Node(key.kernel_stack);
  entry.user_stack = stacks->Node(key.user_stack);
  entry.reason = key.reason;
  entry.task_state = key.task_state;
  entry.thread = key.thread;
  entry.comm = too_many ? threads[key.thread].comm : interner->AddString(names.Text(key.comm));
  entry.process =
      too_many ? threads[key.thread].process : interner->AddString(names.Text(key.process));
  entry.intervals = cell->intervals;
  entry.left_open = cell->left_open;
  entry.right_open = cell->right_open;
  entry.before_ns = cell->before_ns;
  entry.observed_ns = cell->observed_ns;
  entry.estimated_ns = cell->observed_ns;
  entry.sleeping_ns = cell->observed_ns - cell->runqueue_ns - cell->unsplit_ns;
  entry.runqueue_ns = cell->runqueue_ns;
  entry.unsplit_ns = cell->unsplit_ns;
  entry.max_ns = cell->max_ns;
  cell->when.Fold(shift - cell->when_shift);
  entry.when = std::exchange(cell->when, {}).Get();
  entry.lengths = std::exchange(cell->lengths, {}).Get();
  return entry;
}

Profile Builder::Build(Profile frame, const std::vector<ThreadInput>& threads,
                       const StackNames& names) {
  OFFCPU_CHECK(impl_->last_end <= frame.window_ns && frame.threads.size() == 1);
  Profile profile = std::move(frame);
  Interner interner(&profile);
  for (const ThreadInput& input : threads) {
    Thread& thread = profile.threads.emplace_back(input.numbers);
    thread.comm = interner.AddString(input.comm);
    thread.process = interner.AddString(input.process);
  }
  const unsigned shift = WhenShift(profile.window_ns);
  profile.when_bucket_ns = kMinWhenBucket << shift;
  StackNamer stacks(&interner, names);
  profile.entries.reserve(impl_->table.cells().size());
  for (Cell& cell : impl_->table.cells()) {
    profile.entries.push_back(impl_->TakeEntry(&cell, shift, profile.threads, &interner, &stacks));
  }
  if (impl_->merged_intervals > 0) {
    profile.notes.push_back({"merged_intervals", impl_->merged_intervals, impl_->merged_ns});
  }
  return Canonicalize(std::move(profile));
}

}  // namespace offcpu::profile
