// SPDX-License-Identifier: MIT
#include "output/slice_json.h"

#include "output/json.h"
#include "output/missing.h"

namespace offcpu::output {
namespace {

const char* NameOf(analyze::StackPart part) {
  switch (part) {
    case analyze::StackPart::kUser: return "user";
    case analyze::StackPart::kKernel: return "kernel";
    case analyze::StackPart::kUserKernel: break;
  }
  return "user+kernel";
}

const char* NameOf(analyze::TimePart part) {
  switch (part) {
    case analyze::TimePart::kSleeping: return "sleeping";
    case analyze::TimePart::kRunqueue: return "runqueue";
    case analyze::TimePart::kSplit: return "split";
    case analyze::TimePart::kTotal: break;
  }
  return "total";
}

Json Lines(const analyze::Slice& slice, const char* count) {
  Json lines = Json::array();
  for (const analyze::SliceLine& line : slice.lines) {
    Json frames = Json::array();
    for (const analyze::TextId id : slice.FramesOf(line)) frames.push_back(slice.texts[id].text);
    lines.push_back({{"frames", std::move(frames)}, {"ns", line.ns}, {count, line.intervals}});
  }
  return lines;
}

}  // namespace

std::string SliceJson(const profile::Profile& profile, const analyze::Slice& slice,
                      const analyze::SliceOptions& options) {
  Json summary;
  summary["stack"] = NameOf(options.stack);
  summary["weights"] = options.weights == analyze::Weights::kObserved ? "observed" : "estimated";
  summary["time"] = NameOf(options.time);
  summary["reason_frames"] = slice.has_reason_frames;
  summary["window_ns"] = profile.window_ns;
  summary["lines"] = slice.lines.size();
  summary[CountName(profile)] = slice.kept.intervals;
  summary["ns"] = slice.kept.ns;
  summary["unsplit_ns"] = slice.unsplit_ns;
  summary["intervals_without_time"] = slice.no_time.intervals;
  summary["filtered"] = TotalJson(profile, slice.filtered);
  summary.update(MissingJson(profile));
  Json json;
  json["lines"] = Lines(slice, CountName(profile));
  json["summary"] = std::move(summary);
  return JsonDocument(json);
}

}  // namespace offcpu::output
