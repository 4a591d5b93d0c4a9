// SPDX-License-Identifier: MIT
#include "analyze/rank.h"

#include <algorithm>
#include <unordered_map>

#include "analyze/frame_text.h"
#include "analyze/text_order.h"
#include "analyze/wait_place.h"
#include "sched/state_letters.h"

namespace offcpu::analyze {
namespace {

using profile::FrameId;

// Parts joined by a byte that names never hold, for comparing and looking up.
std::string KeyOf(const std::vector<std::string>& parts) {
  std::string key;
  for (const std::string& part : parts) (key += part) += '\0';
  return key;
}

class Ranker {
 public:
  Ranker(const profile::Profile& profile, const std::vector<std::string>& texts,
         const Filter& filter, RankBy by, Weights weights)
      : profile_(profile), texts_(texts), filter_(filter), by_(by), weights_(weights) {}

  Ranking Run() {
    ranking_.by = by_;
    if (by_ == RankBy::kFunction) GroupFrames();
    for (const profile::Entry& entry : profile_.entries) {
      if (!filter_.Selected(entry)) continue;
      const bool kept = filter_.Keep(entry);
      const Nanos ns = SelectedTime(entry, weights_, TimePart::kTotal);
      SliceTotal& total = kept ? ranking_.kept : ranking_.filtered;
      total.intervals += entry.intervals;
      total.ns += ns;
      if (!kept || ns == 0) continue;
      if (by_ == RankBy::kFunction) {
        AddFunctions(entry);
      } else {
        AddTo(RowOf(PartsOfRow(entry), OwnerOf(entry)), entry);
      }
    }
    Sort();
    return std::move(ranking_);
  }

 private:
  // The name of a function with its file, unless the name says it already.
  std::string WithModule(FrameId id) const {
    const profile::Frame& frame = profile_.frames[id];
    const std::string_view module = profile_.String(frame.module);
    const bool own_code = frame.kind == profile::FrameKind::kUser && !module.empty();
    const bool says_module = texts_[id] == '[' + std::string(module) + ']' ||
                             texts_[id].starts_with(std::string(module) + "+0x");
    if (!own_code || says_module) return texts_[id];
    return texts_[id] + " (" + EscapeFrame(module) + ")";
  }

  std::string KernelLabel(const WaitPlace& place) const {
    return place.kernel == 0 ? std::string(kNoKernelStack) : texts_[place.kernel];
  }

  std::vector<std::string> PlaceParts(const profile::Entry& entry) const {
    const WaitPlace place = WaitPlaceOf(profile_, entry);
    std::vector<std::string> parts{KernelLabel(place)};
    if (place.user != 0) parts.push_back(texts_[place.user]);
    if (place.caller != 0) parts.push_back(texts_[place.caller]);
    if (MissesUserStack(profile_, entry)) parts.emplace_back(kNoUserStack);
    return parts;
  }

  std::vector<std::string> StackParts(const profile::Entry& entry) const {
    std::vector<std::string> parts;
    for (const FrameId id : FramesOf(profile_, entry.user_stack)) parts.push_back(texts_[id]);
    if (MissesUserStack(profile_, entry)) parts.emplace_back(kNoUserStack);
    for (const FrameId id : FramesOf(profile_, entry.kernel_stack)) parts.push_back(texts_[id]);
    if (entry.kernel_stack == 0) parts.emplace_back(kNoKernelStack);
    return parts;
  }

  std::string ModuleOf(const profile::Entry& entry) const {
    if (entry.user_stack == 0) {
      return MissesUserStack(profile_, entry) ? std::string(kNoUserStack) : "[kernel]";
    }
    const profile::Frame& frame = profile_.frames[profile_.nodes[entry.user_stack].frame];
    const std::string_view module = profile_.String(frame.module);
    return module.empty() ? "[unknown]" : EscapeFrame(module);
  }

  std::vector<std::string> PartsOfRow(const profile::Entry& entry) const {
    const profile::Thread& thread = profile_.threads[entry.thread];
    switch (by_) {
      case RankBy::kPlace: return PlaceParts(entry);
      case RankBy::kFrame: {
        const WaitPlace place = WaitPlaceOf(profile_, entry);
        return {place.user != 0 ? WithModule(place.user) : KernelLabel(place)};
      }
      case RankBy::kStack: return StackParts(entry);
      case RankBy::kModule: return {ModuleOf(entry)};
      case RankBy::kThread:
        return {ThreadFrame(profile_.String(entry.comm)), "tid " + std::to_string(thread.tid),
                ProcessFrame(profile_.String(entry.process)), "pid " + std::to_string(thread.pid)};
      case RankBy::kProcess:
        return {ProcessFrame(profile_.String(entry.process)), "pid " + std::to_string(thread.pid)};
      case RankBy::kReason:
        return {std::string(model::kReasonNames[static_cast<size_t>(entry.reason)])};
      case RankBy::kState: return {sched::StateLetters(entry.task_state)};
      case RankBy::kFunction: break;  // several rows an entry: AddFunctions()
    }
    return {};
  }

  profile::ThreadId OwnerOf(const profile::Entry& entry) const {
    return by_ == RankBy::kThread || by_ == RankBy::kProcess ? entry.thread : 0;
  }

  size_t RowOf(std::vector<std::string> parts, profile::ThreadId owner) {
    std::string key = KeyOf(parts);
    // A tid that is used again is another thread, whatever its name.
    if (by_ == RankBy::kThread) key += std::to_string(owner);
    const auto [place, is_new] = rows_.try_emplace(std::move(key), ranking_.rows.size());
    if (is_new) {
      RankRow row;
      row.parts = std::move(parts);
      row.thread = owner;
      ranking_.rows.push_back(std::move(row));
    }
    return place->second;
  }

  void AddTo(size_t index, const profile::Entry& entry) {
    RankRow& row = ranking_.rows[index];
    const Nanos ns = SelectedTime(entry, weights_, TimePart::kTotal);
    const model::TimeParts parts = PartsOf(entry, weights_);
    row.ns += ns;
    if (profile_.origin.sampled()) row.by_thread[entry.thread] += ns;
    row.observed_ns += entry.observed_ns;
    row.intervals += entry.intervals;
    row.max_ns = std::max(row.max_ns, entry.max_ns);
    row.time.sleeping += parts.sleeping;
    row.time.runqueue += parts.runqueue;
    row.time.unsplit += parts.unsplit;
    row.reason_ns[static_cast<size_t>(entry.reason)] += ns;
  }

  // Frames with one label are one function. Position 0 stands for "none".
  void GroupFrames() {
    std::unordered_map<std::string, size_t> groups;
    group_of_frame_.resize(texts_.size());
    labels_.resize(1);
    for (FrameId id = 1; id < texts_.size(); ++id) {
      std::string label = WithModule(id);
      const auto [place, is_new] = groups.try_emplace(label, labels_.size());
      if (is_new) labels_.push_back(std::move(label));
      group_of_frame_[id] = place->second;
    }
    last_entry_.resize(labels_.size());
  }

  void AddFunctions(const profile::Entry& entry) {
    ++entry_number_;
    for (const profile::NodeId leaf : {entry.user_stack, entry.kernel_stack}) {
      for (profile::NodeId node = leaf; node != 0; node = profile_.nodes[node].parent) {
        const size_t group = group_of_frame_[profile_.nodes[node].frame];
        if (last_entry_[group] == entry_number_) continue;  // recursion counts once
        last_entry_[group] = entry_number_;
        AddTo(RowOf({labels_[group]}, 0), entry);
      }
    }
    if (MissesUserStack(profile_, entry)) AddTo(RowOf({std::string(kNoUserStack)}, 0), entry);
    if (entry.kernel_stack == 0) AddTo(RowOf({std::string(kNoKernelStack)}, 0), entry);
  }

  void Sort() {
    std::sort(ranking_.rows.begin(), ranking_.rows.end(), [](const RankRow& a, const RankRow& b) {
      if (a.ns != b.ns) return a.ns > b.ns;
      if (a.parts != b.parts) return Utf16Less(KeyOf(a.parts), KeyOf(b.parts));
      return a.thread < b.thread;
    });
  }

  const profile::Profile& profile_;
  const std::vector<std::string>& texts_;
  const Filter& filter_;
  const RankBy by_;
  const Weights weights_;
  Ranking ranking_;
  std::unordered_map<std::string, size_t> rows_;
  std::vector<size_t> group_of_frame_;  // by FrameId
  std::vector<std::string> labels_;     // by group
  std::vector<size_t> last_entry_;      // by group: the last entry that has it
  size_t entry_number_ = 0;
};

}  // namespace

model::Reason RankRow::main_reason() const {
  const auto most = std::max_element(reason_ns.begin(), reason_ns.end());
  return static_cast<model::Reason>(most - reason_ns.begin());
}

Ranking Rank(const profile::Profile& profile, const std::vector<std::string>& texts,
             const Filter& filter, RankBy by, Weights weights) {
  return Ranker(profile, texts, filter, by, weights).Run();
}

std::string RowText(const Ranking& ranking, const RankRow& row) {
  const std::string_view separator = ranking.by == RankBy::kPlace   ? " <- "
                                     : ranking.by == RankBy::kStack ? ";"
                                                                    : ", ";
  std::string text;
  for (const std::string& part : row.parts) {
    if (!text.empty()) text += separator;
    text += part;
  }
  return text;
}

}  // namespace offcpu::analyze
