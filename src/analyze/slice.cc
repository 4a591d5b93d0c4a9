// SPDX-License-Identifier: MIT
#include "analyze/slice.h"

#include <endian.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <unordered_map>

#include "analyze/frame_text.h"
#include "analyze/text_order.h"
#include "analyze/weight.h"

namespace offcpu::analyze {
namespace {

constexpr size_t kMaxFrames = 1U << 28;  // of all entries together

TextKind KindOf(const profile::Frame& frame) {
  switch (frame.kind) {
    case profile::FrameKind::kKernel: return TextKind::kKernel;
    case profile::FrameKind::kUser: return frame.inlined ? TextKind::kInlined : TextKind::kUser;
    case profile::FrameKind::kJit: return TextKind::kJit;
    case profile::FrameKind::kMarker: break;
  }
  return TextKind::kMarker;
}

class SliceBuilder {
 public:
  SliceBuilder(const profile::Profile& profile, const std::vector<std::string>& texts,
               const Filter& filter, const SliceOptions& options)
      : profile_(profile), texts_(texts), filter_(filter), options_(options) {}

  Result<Slice> Build() {
    frame_texts_.resize(1);
    for (profile::FrameId id = 1; id < texts_.size(); ++id) {
      const profile::Frame& frame = profile_.frames[id];
      frame_texts_.push_back(Intern(texts_[id], KindOf(frame), profile_.String(frame.module)));
    }
    slice_.has_reason_frames = NeedsReasonFrames();
    for (const profile::Entry& entry : profile_.entries) {
      if (!filter_.Selected(entry)) continue;
      if (slice_.frames.size() > kMaxFrames) {
        return Failed("the stacks of this profile are too large to write out");
      }
      if (filter_.Keep(entry)) {
        AddEntry(entry);
      } else {
        slice_.filtered.intervals += entry.intervals;
        slice_.filtered.ns += SelectedTime(entry, options_.weights, options_.time);
      }
    }
    SortAndMerge();
    return std::move(slice_);
  }

 private:
  TextId Intern(const std::string& text, TextKind kind, std::string_view module = {}) {
    const auto [place, is_new] = ids_.try_emplace(text, static_cast<TextId>(slice_.texts.size()));
    if (is_new) slice_.texts.push_back({text, std::string(module), kind});
    return place->second;
  }

  // By observed time, also when estimated weights are rendered.
  bool NeedsReasonFrames() const {
    if (options_.reason_frames != ReasonFrames::kAuto) {
      return options_.reason_frames == ReasonFrames::kAlways;
    }
    std::array<bool, model::kReasonCount> seen{};
    for (const profile::Entry& entry : profile_.entries) {
      if (filter_.Keep(entry) && SelectedTime(entry, Weights::kObserved, options_.time) > 0) {
        seen[static_cast<size_t>(entry.reason)] = true;
      }
    }
    return std::count(seen.begin(), seen.end(), true) > 1;
  }

  void AddEntry(const profile::Entry& entry) {
    const Nanos ns = SelectedTime(entry, options_.weights, options_.time);
    const model::TimeParts parts = PartsOf(entry, options_.weights);
    slice_.kept.intervals += entry.intervals;
    slice_.kept.ns += ns;
    slice_.unsplit_ns += parts.unsplit;
    if (ns == 0) {
      slice_.no_time.intervals += entry.intervals;
    } else if (options_.time != TimePart::kSplit) {
      AddLine(entry, ns, {});
    } else {
      if (parts.sleeping > 0) AddLine(entry, parts.sleeping, "[sleeping]");
      if (parts.runqueue > 0) AddLine(entry, parts.runqueue, "[runqueue]");
      if (parts.unsplit > 0) AddLine(entry, parts.unsplit, "[unsplit]");
    }
  }

  void AddLine(const profile::Entry& entry, Nanos ns, const std::string& time_frame) {
    SliceLine line;
    line.first = static_cast<uint32_t>(slice_.frames.size());
    AddOwnerFrames(entry);
    if (options_.stack != StackPart::kKernel) {
      const bool placeholder =
          options_.stack == StackPart::kUser || MissesUserStack(profile_, entry);
      AddStack(entry.user_stack, placeholder ? kNoUserStack : std::string_view());
    }
    if (options_.stack != StackPart::kUser) AddStack(entry.kernel_stack, kNoKernelStack);
    if (!time_frame.empty()) slice_.frames.push_back(Intern(time_frame, TextKind::kTime));
    line.size = static_cast<uint32_t>(slice_.frames.size()) - line.first;
    line.ns = ns;
    line.intervals = entry.intervals;
    line.reason_ns[static_cast<size_t>(entry.reason)] = ns;
    if (slice_.lines.empty() || !SameFrames(slice_.lines.back(), line)) {
      slice_.lines.push_back(line);
    } else {  // entries that differ in thread or state follow each other
      Merge(slice_.lines.back(), line);
      slice_.frames.resize(line.first);
    }
  }

  bool SameFrames(const SliceLine& a, const SliceLine& b) const {
    return std::ranges::equal(slice_.FramesOf(a), slice_.FramesOf(b));
  }

  static void Merge(SliceLine& sum, const SliceLine& line) {
    sum.ns += line.ns;
    sum.intervals += line.intervals;
    for (size_t i = 0; i < sum.reason_ns.size(); ++i) sum.reason_ns[i] += line.reason_ns[i];
  }

  // The frames above the stack: why, which process, which thread.
  void AddOwnerFrames(const profile::Entry& entry) {
    if (slice_.has_reason_frames) {
      const std::string_view reason = model::kReasonNames[static_cast<size_t>(entry.reason)];
      slice_.frames.push_back(Intern("[offcpu: " + std::string(reason) + "]", TextKind::kReason));
    }
    if (options_.process_frames) {
      slice_.frames.push_back(
          Intern(ProcessFrame(profile_.String(entry.process)), TextKind::kProcess));
    }
    if (options_.thread_frames != ThreadFrames::kNone) {
      const std::string name = ThreadFrame(profile_.String(entry.comm));
      slice_.frames.push_back(
          Intern(options_.thread_frames == ThreadFrames::kPool ? PoolName(name) : name,
                 TextKind::kThread));
    }
  }

  void AddStack(profile::NodeId leaf, std::string_view placeholder) {
    if (leaf == 0 && !placeholder.empty()) {
      slice_.frames.push_back(Intern(std::string(placeholder), TextKind::kMarker));
    }
    const auto first = static_cast<std::ptrdiff_t>(slice_.frames.size());
    for (profile::NodeId node = leaf; node != 0; node = profile_.nodes[node].parent) {
      slice_.frames.push_back(frame_texts_[profile_.nodes[node].frame]);
    }
    std::reverse(slice_.frames.begin() + first, slice_.frames.end());
  }

  // Ranks such that lines compare by their joined texts when they are compared rank by rank: a text
  // is ranked with the ';' behind it, and once more without where a line ends in it. Ranks are kept
  // big-endian: then they compare as bytes, many at once.
  void RankFrames() {
    struct Key {
      TextId text;
      bool ends;
      std::string bytes;
    };
    std::vector<bool> ends(slice_.texts.size());
    for (const SliceLine& line : slice_.lines) ends[slice_.FramesOf(line).back()] = true;
    std::vector<Key> keys;
    for (TextId id = 0; id < slice_.texts.size(); ++id) {
      keys.push_back({id, false, slice_.texts[id].text + ';'});
      if (ends[id]) keys.push_back({id, true, slice_.texts[id].text});
    }
    std::sort(keys.begin(), keys.end(),
              [](const Key& a, const Key& b) { return Utf16Less(a.bytes, b.bytes); });
    std::vector<uint32_t> inner_rank(slice_.texts.size());
    std::vector<uint32_t> last_rank(slice_.texts.size());
    for (uint32_t rank = 0; rank < keys.size(); ++rank) {
      (keys[rank].ends ? last_rank : inner_rank)[keys[rank].text] = htobe32(rank);
    }
    ranks_.reserve(slice_.frames.size());
    for (const TextId text : slice_.frames) ranks_.push_back(inner_rank[text]);
    for (const SliceLine& line : slice_.lines) {
      const uint32_t last = line.first + line.size - 1;
      ranks_[last] = last_rank[slice_.frames[last]];
    }
  }

  std::span<const uint32_t> RanksOf(const SliceLine& line) const {
    return {ranks_.data() + line.first, line.size};
  }

  void SortAndMerge() {
    RankFrames();
    std::vector<uint32_t> order(slice_.lines.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) {
      const auto left = RanksOf(slice_.lines[a]);
      const auto right = RanksOf(slice_.lines[b]);
      const size_t common = std::min(left.size_bytes(), right.size_bytes());
      const int difference = std::memcmp(left.data(), right.data(), common);
      return difference != 0 ? difference < 0 : left.size() < right.size();
    });
    std::vector<SliceLine> merged;
    for (const uint32_t at : order) {
      const SliceLine& line = slice_.lines[at];
      if (merged.empty() || !SameFrames(merged.back(), line)) {
        merged.push_back(line);
      } else {
        Merge(merged.back(), line);
      }
    }
    slice_.lines = std::move(merged);
  }

  const profile::Profile& profile_;
  const std::vector<std::string>& texts_;
  const Filter& filter_;
  const SliceOptions& options_;
  Slice slice_;
  std::unordered_map<std::string, TextId> ids_;
  std::vector<TextId> frame_texts_;  // by FrameId
  std::vector<uint32_t> ranks_;      // big-endian; parallel to Slice::frames
};

}  // namespace

Result<Slice> BuildSlice(const profile::Profile& profile, const std::vector<std::string>& texts,
                         const Filter& filter, const SliceOptions& options) {
  return SliceBuilder(profile, texts, filter, options).Build();
}

std::string LineText(const Slice& slice, const SliceLine& line) {
  std::string text;
  for (const TextId id : slice.FramesOf(line)) {
    if (!text.empty()) text += ';';
    text += slice.texts[id].text;
  }
  return text;
}

}  // namespace offcpu::analyze
