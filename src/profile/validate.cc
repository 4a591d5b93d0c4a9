// SPDX-License-Identifier: MIT
#include "profile/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <initializer_list>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "profile/canonical.h"
#include "profile/histogram.h"
#include "profile/order.h"

namespace offcpu::profile {

namespace {

// What is wrong, as a clause; empty when nothing is.
using Fault = std::string;

// False when the sum does not fit.
bool Add(uint64_t* sum, uint64_t value) { return !__builtin_add_overflow(*sum, value, sum); }

bool AddUpTo(uint64_t total, std::initializer_list<uint64_t> parts) {
  uint64_t sum = 0;
  for (const uint64_t part : parts) {
    if (!Add(&sum, part)) return false;
  }
  return sum == total;
}

bool AddUpTo(uint64_t total, const Histogram& parts) {
  uint64_t sum = 0;
  for (const auto& [bucket, amount] : parts) {
    if (!Add(&sum, amount)) return false;
  }
  return sum == total;
}

bool Ascending(const Histogram& histogram) {
  for (size_t i = 0; i < histogram.size(); ++i) {
    if (histogram[i].second == 0) return false;
    if (i > 0 && histogram[i].first <= histogram[i - 1].first) return false;
  }
  return true;
}

Fault TextFault(const Profile& profile) {
  const Origin& o = profile.origin;
  const auto too_long = [](std::string_view text) { return text.size() > kMaxTextBytes; };
  bool bad = false;
  for (std::string_view text :
       {std::string_view(o.producer), std::string_view(o.backend), std::string_view(o.host),
        std::string_view(o.kernel_release), std::string_view(o.machine),
        std::string_view(o.command), std::string_view(o.target)}) {
    bad |= too_long(text);
  }
  for (const std::string& text : o.reasons) bad |= too_long(text);
  for (const std::string& text : profile.strings) bad |= too_long(text);
  for (const std::string& text : profile.warnings) bad |= too_long(text);
  for (const auto* counters : {&profile.intervals, &profile.rejected, &profile.notes}) {
    for (const Counter& counter : *counters) bad |= too_long(counter.name);
  }
  return bad ? fmt::format("a text of more than {} bytes", kMaxTextBytes) : Fault();
}

// Ids: an id may only point to what stands before it.
Fault IdFault(const Profile& p) {
  if (p.strings.empty() || p.frames.empty() || p.nodes.empty() || p.threads.empty() ||
      !p.strings[0].empty()) {
    return "element 0 is missing";
  }
  const auto string_ok = [&](StringId id) { return id < p.strings.size(); };
  for (size_t i = 1; i < p.frames.size(); ++i) {
    const Frame& frame = p.frames[i];
    if (!string_ok(frame.name) || !string_ok(frame.module)) {
      return fmt::format("frame {} has an unknown string", i);
    }
    if (frame.kind < FrameKind::kKernel || frame.kind > FrameKind::kMarker) {
      return fmt::format("frame {} is of an unknown kind", i);
    }
  }
  for (size_t i = 1; i < p.nodes.size(); ++i) {
    if (p.nodes[i].parent >= i) return fmt::format("stack node {} has an unknown parent", i);
    if (p.nodes[i].frame == 0 || p.nodes[i].frame >= p.frames.size()) {
      return fmt::format("stack node {} has an unknown frame", i);
    }
  }
  for (size_t i = 1; i < p.threads.size(); ++i) {
    if (!string_ok(p.threads[i].comm) || !string_ok(p.threads[i].process)) {
      return fmt::format("thread {} has an unknown string", i);
    }
  }
  for (size_t i = 0; i < p.entries.size(); ++i) {
    const Entry& e = p.entries[i];
    if (e.user_stack >= p.nodes.size() || e.kernel_stack >= p.nodes.size()) {
      return fmt::format("entry {} has an unknown stack", i + 1);
    }
    if (e.thread >= p.threads.size()) return fmt::format("entry {} has an unknown thread", i + 1);
    if (!string_ok(e.comm) || !string_ok(e.process)) {
      return fmt::format("entry {} has an unknown string", i + 1);
    }
  }
  return {};
}

template <class Value>
bool HasTwins(std::vector<Value> values) {
  std::sort(values.begin(), values.end());
  return std::adjacent_find(values.begin(), values.end()) != values.end();
}

Fault RepeatFault(const Profile& p) {
  if (HasTwins(std::vector<std::string_view>(p.strings.begin(), p.strings.end()))) {
    return "a string stands twice";
  }
  std::vector<std::tuple<StringId, StringId, FrameKind, bool>> frames;
  for (size_t i = 1; i < p.frames.size(); ++i) {
    const Frame& frame = p.frames[i];
    frames.emplace_back(frame.name, frame.module, frame.kind, frame.inlined);
  }
  if (HasTwins(std::move(frames))) return "a frame stands twice";
  // Children of a node are the one right behind it, which begins no path, and the heads of paths.
  std::vector<std::pair<NodeId, FrameId>> heads;
  for (size_t i = 1; i < p.nodes.size(); ++i) {
    const StackNode& node = p.nodes[i];
    if (node.parent == i - 1) continue;
    if (p.nodes[node.parent + 1] == node) return fmt::format("stack node {} stands twice", i);
    heads.emplace_back(node.parent, node.frame);
  }
  return HasTwins(std::move(heads)) ? "a stack node stands twice" : Fault();
}

Fault ThreadFault(const Thread& t, const Profile& p) {
  const Nanos window_ns = p.window_ns;
  if ((t.tid == 0) != (t.merged_threads > 0)) return "stands for one thread and for several";
  if (t.first_ns > t.last_ns) return "ends before it begins";
  if (t.tid == 0 && t.first_ns != 0) return "stands for several threads, but has a beginning";
  if (t.tid != 0 && t.last_ns > window_ns) return "lives beyond the window";
  if (!AddUpTo(t.last_ns - t.first_ns,
               {t.on_cpu_ns, t.sleeping_ns, t.runqueue_ns, t.unsplit_ns, t.runnable_ns,
                t.preempted_ns, t.newborn_ns, t.unknown_ns})) {
    return "has times that do not add up to its life";
  }
  if (t.samples != 0 && !p.origin.sampled()) return "has samples, but nothing was sampled";
  return {};
}

Fault WhenFault(const Entry& e, const Profile& p) {
  if (p.when_bucket_ns == 0) return e.when.empty() ? Fault() : "has a time line without a unit";
  if (!Ascending(e.when)) return "has a time line out of order";
  if (!AddUpTo(e.observed_ns, e.when)) return "has a time line that does not add up to its time";
  if (e.when.empty()) return {};
  if (p.window_ns == 0 || e.when.back().first > (p.window_ns - 1) / p.when_bucket_ns) {
    return "has a time line beyond the window";
  }
  const Nanos unit = Nanos{1} << WhenUnitShift(e.observed_ns);
  for (size_t i = 0; i + 1 < e.when.size(); ++i) {
    if (e.when[i].second % unit != 0) return "has a time line that is not rounded";
  }
  return e.when.back().second < unit ? "has a time line that is not rounded" : Fault();
}

// What an entry of intervals must have, and one of samples can't.
Fault IntervalFault(const Entry& e) {
  if (e.intervals == 0) return "has no intervals";
  if (e.intervals >> 63 != 0) return "has too many intervals";
  if (e.left_open > e.intervals || e.right_open > e.intervals) {
    return "has more open intervals than intervals";
  }
  if (e.left_open == 0 && e.before_ns != 0)
    return "has time before the window, but none open there";
  const auto most = static_cast<unsigned __int128>(e.max_ns) * e.intervals;
  if (e.max_ns > e.observed_ns || e.observed_ns > most) {
    return "has a longest interval that its time rules out";
  }
  if (!Ascending(e.lengths)) return "has lengths out of order";
  if (!AddUpTo(e.intervals, e.lengths)) return "has lengths that do not add up to its intervals";
  if (e.lengths.back().first != LengthBucket(e.max_ns)) {
    return "has lengths that its longest interval rules out";
  }
  return {};
}

Fault SamplesFault(const Entry& e) {
  const bool has_intervals = e.left_open != 0 || e.right_open != 0 || e.before_ns != 0 ||
                             e.max_ns != 0 || !e.lengths.empty();
  return has_intervals ? "tells of intervals, but was sampled" : Fault();
}

Fault EntryFault(const Entry& e, const Profile& p) {
  if (e.reason > model::Reason::kPreempted) return "has an unknown reason";
  Fault fault = p.origin.sampled() ? SamplesFault(e) : IntervalFault(e);
  if (!fault.empty()) return fault;
  if (!AddUpTo(e.observed_ns, {e.sleeping_ns, e.runqueue_ns, e.unsplit_ns})) {
    return "has parts that do not add up to its time";
  }
  if (!p.origin.estimated && e.estimated_ns != e.observed_ns) {
    return "has an estimate, but nothing was sampled";
  }
  return WhenFault(e, p);
}

// Rows one by one, and that the sums over all of them fit.
Fault RowFault(const Profile& p) {
  for (size_t i = 1; i < p.threads.size(); ++i) {
    const Fault fault = ThreadFault(p.threads[i], p);
    if (!fault.empty()) return fmt::format("thread {} {}", i, fault);
  }
  uint64_t intervals = 0;
  uint64_t observed = 0;
  uint64_t estimated = 0;
  uint64_t before = 0;
  for (size_t i = 0; i < p.entries.size(); ++i) {
    const Entry& e = p.entries[i];
    const Fault fault = EntryFault(e, p);
    if (!fault.empty()) return fmt::format("entry {} {}", i + 1, fault);
    if (!Add(&intervals, e.intervals) || !Add(&observed, e.observed_ns) ||
        !Add(&estimated, e.estimated_ns) || !Add(&before, e.before_ns)) {
      return "totals that are too large";
    }
  }
  for (size_t i = 0; i < p.losses.size(); ++i) {
    if (p.losses[i].from_ns > p.losses[i].to_ns) {
      return fmt::format("loss {} ends before it begins", i + 1);
    }
  }
  return {};
}

Fault OrderFault(const Profile& p) {
  const Order order(p);
  for (size_t i = 1; i < p.nodes.size(); ++i) {
    if (order.Depth(static_cast<NodeId>(i)) > kMaxStackDepth) {
      return fmt::format("a stack of more than {} frames", kMaxStackDepth);
    }
  }
  for (size_t i = 2; i < p.threads.size(); ++i) {
    if (std::is_gt(order.Threads(p.threads[i - 1], p.threads[i]))) {
      return fmt::format("thread {} is out of order", i);
    }
  }
  for (size_t i = 1; i < p.entries.size(); ++i) {
    if (std::is_gteq(order.Entries(p.entries[i - 1], p.entries[i]))) {
      return fmt::format("entry {} is out of order", i + 1);
    }
  }
  return {};
}

Fault WindowFault(const Profile& p) {
  if (p.when_bucket_ns == 0 || p.window_ns == 0) return {};
  if ((p.window_ns - 1) / p.when_bucket_ns < kMaxWhenBuckets) return {};
  return fmt::format("a time line of more than {} buckets", kMaxWhenBuckets);
}

}  // namespace

Result<void> ValidateProfile(const Profile& profile) {
  for (const auto check :
       {&TextFault, &WindowFault, &IdFault, &RowFault, &RepeatFault, &OrderFault}) {
    Fault fault = check(profile);
    if (!fault.empty()) return Failed(std::move(fault));
  }
  return {};
}

}  // namespace offcpu::profile
