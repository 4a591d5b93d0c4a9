// SPDX-License-Identifier: MIT
#include "output/flame_slice.h"

#include <fmt/format.h>

#include <map>

#include "analyze/weight.h"
#include "output/missing.h"
#include "output/terminal.h"

namespace offcpu::output {
namespace {

FlameKind KindOf(analyze::TextKind kind) {
  switch (kind) {
    case analyze::TextKind::kUser: return FlameKind::kUser;
    case analyze::TextKind::kInlined: return FlameKind::kInlined;
    case analyze::TextKind::kKernel: return FlameKind::kKernel;
    case analyze::TextKind::kJit: return FlameKind::kJit;
    case analyze::TextKind::kMarker: return FlameKind::kMarker;
    case analyze::TextKind::kReason:
    case analyze::TextKind::kProcess:
    case analyze::TextKind::kThread:
    case analyze::TextKind::kTime: break;
  }
  return FlameKind::kLabel;
}

std::string Title(const profile::Origin& origin) {
  if (origin.target.empty()) return "Off-CPU time";
  return "Off-CPU time of " + (origin.target == "all" ? "all processes" : origin.target);
}

std::string Subtitle(const profile::Profile& profile) {
  const profile::Origin& origin = profile.origin;
  std::string text = FormatDuration(profile.window_ns) + " recorded";
  if (!origin.host.empty()) text += " on " + origin.host;
  if (!origin.kernel_release.empty()) text += ", Linux " + origin.kernel_release;
  if (!origin.machine.empty()) text += ' ' + origin.machine;
  if (!origin.backend.empty()) text += ", back end " + origin.backend;
  std::string_view separator = ", reasons ";
  for (const std::string& reason : origin.reasons) {
    text += std::string(separator) + reason;
    separator = " and ";
  }
  return text;
}

std::string Measure(const analyze::SliceOptions& options) {
  std::string text;
  switch (options.time) {
    case analyze::TimePart::kTotal: text = "time off the CPU"; break;
    case analyze::TimePart::kSleeping: text = "time asleep until the wake-up"; break;
    case analyze::TimePart::kRunqueue: text = "time from the wake-up to running"; break;
    case analyze::TimePart::kSplit: text = "time off the CPU by its parts"; break;
  }
  if (options.weights == analyze::Weights::kEstimated) text += ", estimated from a sample";
  return text;
}

std::string Intervals(uint64_t count) {
  return fmt::format("{} {}", count, count == 1 ? "interval" : "intervals");
}
std::string Intervals(const analyze::SliceTotal& total) {
  return Intervals(total.intervals) + ", " + FormatDuration(total.ns);
}

// Which share of the time has stacks that lack something, by marker; a line counts once for each.
std::vector<std::string> MarkerNotes(const analyze::Slice& slice) {
  std::map<std::string_view, Nanos> times;
  for (const analyze::SliceLine& line : slice.lines) {
    std::map<std::string_view, bool> seen;
    for (const analyze::TextId id : slice.FramesOf(line)) {
      const analyze::SliceText& text = slice.texts[id];
      if (text.kind != analyze::TextKind::kMarker || seen[text.text]) continue;
      seen[text.text] = true;
      times[text.text] += line.ns;
    }
  }
  std::vector<std::string> notes;
  notes.reserve(times.size());
  for (const auto& [marker, ns] : times) {
    notes.push_back(fmt::format("Stacks with {}: {}, {} of all", marker, FormatDuration(ns),
                                FormatShare(ns, slice.kept.ns)));
  }
  return notes;
}

std::vector<std::string> Notes(const profile::Profile& profile, const analyze::Slice& slice,
                               const analyze::SliceTotal& other_reasons) {
  std::vector<std::string> notes;
  if (std::string missing = MissingLine(profile); !missing.empty()) {
    notes.push_back(std::move(missing));
  }
  if (other_reasons.intervals > 0) {
    notes.push_back("Of reasons that are not selected: " + Intervals(other_reasons));
  }
  if (slice.filtered.intervals > 0) {
    notes.push_back("Left out by the filters: " + Intervals(slice.filtered));
  }
  if (slice.no_time.intervals > 0) {
    notes.push_back("Without time of this kind, so not drawn: " +
                    Intervals(slice.no_time.intervals));
  }
  for (std::string& note : MarkerNotes(slice)) notes.push_back(std::move(note));
  notes.insert(notes.end(), profile.warnings.begin(), profile.warnings.end());
  return notes;
}

// What the selection of reasons left out.
analyze::SliceTotal OtherReasons(const profile::Profile& profile, const analyze::Slice& slice,
                                 const analyze::SliceOptions& options) {
  analyze::SliceTotal rest;
  for (const profile::Entry& entry : profile.entries) {
    rest.intervals += entry.intervals;
    rest.ns += analyze::SelectedTime(entry, options.weights, options.time);
  }
  rest.intervals -= slice.kept.intervals + slice.filtered.intervals;
  rest.ns -= slice.kept.ns + slice.filtered.ns;
  return rest;
}

std::string EmptyText(const profile::Profile& profile, const analyze::Slice& slice) {
  if (profile.entries.empty()) return "Nothing to draw: the recording holds no interval.";
  if (slice.kept.intervals > 0) return "Nothing to draw: no interval has time of this kind.";
  if (slice.filtered.intervals > 0) return "Nothing to draw: the filters left out every interval.";
  return "Nothing to draw: no interval has a selected reason.";
}

}  // namespace

FlameTree TreeOfSlice(const analyze::Slice& slice) {
  FlameTree tree;
  std::vector<FlameFrame> stack;
  for (const analyze::SliceLine& line : slice.lines) {
    stack.clear();
    for (const analyze::TextId id : slice.FramesOf(line)) {
      const analyze::SliceText& text = slice.texts[id];
      stack.push_back({.name = text.text, .module = text.module, .kind = KindOf(text.kind)});
    }
    tree.Add(stack, line.reason_ns, line.intervals);
  }
  return tree;
}

FlamegraphOptions DescribeSlice(const profile::Profile& profile, const analyze::Slice& slice,
                                const analyze::SliceOptions& slice_options) {
  FlamegraphOptions options;
  options.title = Title(profile.origin);
  options.subtitle = Subtitle(profile);
  options.measure = Measure(slice_options);
  options.count_name =
      slice_options.time == analyze::TimePart::kSplit ? "interval parts" : CountName(profile);
  options.notes = Notes(profile, slice, OtherReasons(profile, slice, slice_options));
  options.empty_text = EmptyText(profile, slice);
  return options;
}

}  // namespace offcpu::output
