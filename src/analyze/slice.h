// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analyze/filter.h"
#include "analyze/weight.h"
#include "base/clock.h"
#include "model/sched_event.h"
#include "profile/profile.h"

// A profile as weighted stack lines: what `stacks` prints and `flamegraph` draws.
namespace offcpu::analyze {

enum class StackPart { kUserKernel, kUser, kKernel };
enum class ThreadFrames { kNone, kName, kPool };
enum class ReasonFrames { kAuto, kAlways, kNever };

struct SliceOptions {
  StackPart stack = StackPart::kUserKernel;
  Weights weights = Weights::kObserved;
  TimePart time = TimePart::kTotal;  // kSplit: a leaf [sleeping], [runqueue] or [unsplit] each
  ReasonFrames reason_frames = ReasonFrames::kAuto;  // kAuto: when more than one reason has time
  bool process_frames = false;
  ThreadFrames thread_frames = ThreadFrames::kNone;
};

// kInlined: user code that the compiler inlined into the frame before it. kMarker: stands for
// something that is missing. The last four are no frames of a stack.
enum class TextKind : uint8_t {
  kUser,
  kInlined,
  kKernel,
  kJit,
  kMarker,
  kReason,
  kProcess,
  kThread,
  kTime
};

using TextId = uint32_t;

// A distinct text of a frame; module and kind are those of the first frame that has the text.
struct SliceText {
  std::string text;
  std::string module;  // empty: none known, or not a frame of a stack
  TextKind kind = TextKind::kMarker;
};

// One stack. `ns` > 0; it is the sum of `reason_ns` (by model::Reason). `intervals` is how many
// were behind it; with TimePart::kSplit an interval stands in the line of each of its parts.
struct SliceLine {
  uint32_t first = 0;  // position of its root-most frame in Slice::frames
  uint32_t size = 0;
  Nanos ns = 0;
  uint64_t intervals = 0;
  std::array<Nanos, model::kReasonCount> reason_ns{};
};

struct SliceTotal {
  uint64_t intervals = 0;
  Nanos ns = 0;
};

// Lines differ in text and are in the order of it (UTF-16 code units of the frames joined by ';').
// From the root: reason, process and thread frame as asked for, user frames, kernel frames, time
// part.
struct Slice {
  std::vector<SliceText> texts;  // by TextId
  std::vector<TextId> frames;    // of all lines
  std::vector<SliceLine> lines;
  bool has_reason_frames = false;
  SliceTotal kept;      // sum of the lines, and the intervals behind it, each once
  SliceTotal filtered;  // what the filter dropped of the selected reasons, weighed the same way
  SliceTotal no_time;   // of `kept`: intervals of entries without time of the part asked for (ns 0)
  Nanos unsplit_ns = 0;  // of all kept entries: blocked time whose parts are not known

  std::span<const TextId> FramesOf(const SliceLine& line) const {
    return {frames.data() + line.first, line.size};
  }
};

// `texts` is FrameTexts(profile). Fails when the stacks would fill the memory, which takes a file
// made for it.
Result<Slice> BuildSlice(const profile::Profile& profile, const std::vector<std::string>& texts,
                         const Filter& filter, const SliceOptions& options);

// "a;b;c", the text of a line.
std::string LineText(const Slice& slice, const SliceLine& line);

}  // namespace offcpu::analyze
