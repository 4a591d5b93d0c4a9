// SPDX-License-Identifier: MIT
#include "profile/canonical.h"

#include <algorithm>
#include <compare>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "profile/histogram.h"
#include "profile/interner.h"
#include "profile/order.h"

namespace offcpu::profile {

namespace {

using Ids = std::vector<uint32_t>;

uint32_t NewId(const Ids& ids, uint32_t old) {
  OFFCPU_CHECK(old < ids.size());
  return ids[old];
}

void CutText(std::string* text) {
  if (text->size() > kMaxTextBytes) text->resize(kMaxTextBytes);
}

void CutTexts(Profile* profile) {
  Origin& origin = profile->origin;
  for (std::string* text : {&origin.producer, &origin.backend, &origin.host, &origin.kernel_release,
                            &origin.machine, &origin.command, &origin.target}) {
    CutText(text);
  }
  for (std::string& text : origin.reasons) CutText(&text);
  for (std::string& text : profile->strings) CutText(&text);
  for (std::string& text : profile->warnings) CutText(&text);
  for (auto* counters : {&profile->intervals, &profile->rejected, &profile->notes}) {
    for (Counter& counter : *counters) CutText(&counter.name);
  }
}

// Leaves each string, frame and node once.
void Deduplicate(Profile* profile) {
  Profile once;
  Interner interner(&once);
  Ids strings(profile->strings.size());
  Ids frames(profile->frames.size());
  Ids nodes(profile->nodes.size());
  for (size_t i = 0; i < strings.size(); ++i) strings[i] = interner.AddString(profile->strings[i]);
  for (size_t i = 1; i < frames.size(); ++i) {
    Frame frame = profile->frames[i];
    frame.name = NewId(strings, frame.name);
    frame.module = NewId(strings, frame.module);
    frames[i] = interner.AddFrame(frame);
  }
  for (size_t i = 1; i < nodes.size(); ++i) {
    const StackNode node = profile->nodes[i];
    OFFCPU_CHECK(node.parent < i);
    nodes[i] = interner.AddNode(nodes[node.parent], NewId(frames, node.frame));
  }
  for (Thread& thread : profile->threads) {
    thread.comm = NewId(strings, thread.comm);
    thread.process = NewId(strings, thread.process);
  }
  for (Entry& entry : profile->entries) {
    entry.comm = NewId(strings, entry.comm);
    entry.process = NewId(strings, entry.process);
    entry.user_stack = NewId(nodes, entry.user_stack);
    entry.kernel_stack = NewId(nodes, entry.kernel_stack);
  }
  profile->strings = std::move(once.strings);
  profile->frames = std::move(once.frames);
  profile->nodes = std::move(once.nodes);
}

void SortThreads(Profile* profile, const Order& order) {
  std::vector<Thread>& threads = profile->threads;
  Ids sorted(threads.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  std::stable_sort(sorted.begin() + 1, sorted.end(), [&](ThreadId a, ThreadId b) {
    return std::is_lt(order.Threads(threads[a], threads[b]));
  });
  Ids new_ids(threads.size());
  std::vector<Thread> in_order;
  in_order.reserve(threads.size());
  for (const ThreadId old : sorted) {
    new_ids[old] = static_cast<ThreadId>(in_order.size());
    in_order.push_back(threads[old]);
  }
  for (Entry& entry : profile->entries) entry.thread = NewId(new_ids, entry.thread);
  threads = std::move(in_order);
}

void MergeEntry(Entry* to, const Entry& from) {
  to->intervals += from.intervals;
  to->left_open += from.left_open;
  to->right_open += from.right_open;
  to->before_ns += from.before_ns;
  to->observed_ns += from.observed_ns;
  to->estimated_ns += from.estimated_ns;
  to->sleeping_ns += from.sleeping_ns;
  to->runqueue_ns += from.runqueue_ns;
  to->unsplit_ns += from.unsplit_ns;
  to->max_ns = std::max(to->max_ns, from.max_ns);
  AddHistogram(&to->when, from.when);
  AddHistogram(&to->lengths, from.lengths);
}

void SortEntries(Profile* profile, const Order& order) {
  std::vector<Entry>& entries = profile->entries;
  Ids sorted(entries.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  std::sort(sorted.begin(), sorted.end(), [&](uint32_t a, uint32_t b) {
    return std::is_lt(order.Entries(entries[a], entries[b]));
  });
  std::vector<Entry> merged;
  merged.reserve(entries.size());
  for (const uint32_t index : sorted) {
    Entry& entry = entries[index];
    if (!merged.empty() && std::is_eq(order.Entries(merged.back(), entry))) {
      MergeEntry(&merged.back(), entry);
    } else {
      merged.push_back(std::move(entry));
    }
  }
  for (Entry& entry : merged) RoundWhen(&entry.when, entry.observed_ns);
  entries = std::move(merged);
}

// Numbers strings, frames and nodes anew by their first use.
class Renumbering {
 public:
  explicit Renumbering(Profile* profile)
      : profile_(profile),
        strings_(profile->strings.size()),
        frames_(profile->frames.size()),
        nodes_(profile->nodes.size()) {}

  void Run() {
    for (Thread& thread : profile_->threads) {
      thread.comm = String(thread.comm);
      thread.process = String(thread.process);
    }
    for (Entry& entry : profile_->entries) {
      entry.user_stack = Stack(entry.user_stack);
      entry.kernel_stack = Stack(entry.kernel_stack);
      entry.comm = String(entry.comm);
      entry.process = String(entry.process);
    }
    profile_->strings = std::move(out_.strings);
    profile_->frames = std::move(out_.frames);
    profile_->nodes = std::move(out_.nodes);
  }

 private:
  StringId String(StringId old) {
    if (old == 0) return 0;
    if (strings_[old] == 0) {
      strings_[old] = static_cast<StringId>(out_.strings.size());
      out_.strings.push_back(std::move(profile_->strings[old]));
    }
    return strings_[old];
  }

  FrameId AddFrame(FrameId old) {
    if (old != 0 && frames_[old] == 0) {
      Frame frame = profile_->frames[old];
      frame.name = String(frame.name);
      frame.module = String(frame.module);
      frames_[old] = static_cast<FrameId>(out_.frames.size());
      out_.frames.push_back(frame);
    }
    return frames_[old];
  }

  NodeId Stack(NodeId old) {
    path_.clear();
    for (NodeId node = old; node != 0 && nodes_[node] == 0; node = profile_->nodes[node].parent) {
      path_.push_back(node);
    }
    for (auto node = path_.rbegin(); node != path_.rend(); ++node) {
      const StackNode known = profile_->nodes[*node];
      const FrameId frame = AddFrame(known.frame);
      nodes_[*node] = static_cast<NodeId>(out_.nodes.size());
      out_.nodes.push_back({nodes_[known.parent], frame});
    }
    return nodes_[old];
  }

  Profile* profile_;
  Profile out_;
  Ids strings_;  // old id to new id; 0: not used so far
  Ids frames_;
  Ids nodes_;
  Ids path_;
};

}  // namespace

Profile Canonicalize(Profile profile) {
  CutTexts(&profile);
  Deduplicate(&profile);
  const Order order(profile);
  SortThreads(&profile, order);
  SortEntries(&profile, order);
  Renumbering(&profile).Run();
  return profile;
}

}  // namespace offcpu::profile
