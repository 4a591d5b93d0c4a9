// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "profile/encode.h"
#include "profile/foreign.h"
#include "profile/histogram.h"
#include "profile/profile_file.h"
#include "profile/validate.h"
#include "proto/profile.pb.h"

namespace offcpu::profile {

namespace {

constexpr std::string_view kDamagedHint =
    "the file was changed or copied incompletely; take another copy or record again";

// The numbers of a histogram, taken bucket by bucket.
class Parts {
 public:
  explicit Parts(std::string_view numbers) : rest_(numbers) {}

  bool empty() const { return rest_.empty(); }

  // An amount and the number of empty buckets before it. The amount is 0 when it was written as
  // that, or when what is there makes no sense.
  std::pair<uint64_t, uint32_t> Take() {
    const uint64_t number = TakeVarint();
    if ((number & 1) == 0) return {number >> 1, 0};
    if (empty()) return {0, 0};
    const uint64_t gap = TakeVarint() + 1;
    if (gap > kMaxWhenBuckets) return {0, 0};
    return {number >> 1, static_cast<uint32_t>(gap)};
  }

 private:
  // 0 when it is cut off or too long.
  uint64_t TakeVarint() {
    uint64_t value = 0;
    for (unsigned shift = 0; !rest_.empty() && shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return 0;
  }

  std::string_view rest_;
};

// Decodes one record after the other into a profile whose ids are valid. What the rows say is left
// to ValidateProfile.
class Decoder {
 public:
  Decoder(std::span<const std::byte> bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  Result<Profile> Run() {
    position_ = verified_ = kHeaderBytes;
    profile_.entries.reserve(bytes_.size() / 64);  // what a usual file has
    profile_.nodes.reserve(bytes_.size() / 16);
    depths_.reserve(bytes_.size() / 16);
    while (position_ < bytes_.size()) {
      record_begin_ = position_;
      if (ended_) return Damaged("bytes after the end");
      if (auto taken = TakeRecord(); !taken) return taken.error();
    }
    if (!ended_) return CutOff();
    if (auto valid = ValidateProfile(profile_); !valid) {
      return Failed(fmt::format("{} is damaged: {}", name_, valid.error().message),
                    std::string(kDamagedHint));
    }
    return std::move(profile_);
  }

 private:
  Error Damaged(std::string_view what) const {
    return Failed(
        fmt::format("{} is damaged: {}, in the record at byte {}", name_, what, record_begin_),
        std::string(kDamagedHint));
  }
  Error CutOff() const {
    return Failed(fmt::format("{} is cut off at byte {}", name_, bytes_.size()),
                  std::string(kDamagedHint));
  }

  std::string_view Text(size_t begin, size_t end) const {
    return {reinterpret_cast<const char*>(bytes_.data()) + begin, end - begin};
  }

  // One content, one file: what was read since the last row must be what the encoder writes for it.
  // Numbers in more bytes than they need, fields that this version does not have, definitions in
  // another place and unused ones all end here.
  Result<void> Verify() {
    if (encoder_.bytes() != Text(verified_, position_)) return Damaged("not the canonical form");
    encoder_.bytes().clear();
    verified_ = position_;
    return {};
  }

  // At most 5 bytes.
  Result<size_t> TakeVarint() {
    size_t value = 0;
    for (int shift = 0;; shift += 7) {
      if (position_ == bytes_.size()) return CutOff();
      const auto byte = static_cast<size_t>(bytes_[position_++]);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
      if (shift == 28) return Damaged("a length of more than 5 bytes");
    }
  }

  // A Record has one field only, so that what it holds can be parsed in place.
  Result<void> TakeRecord() {
    const auto size = TakeVarint();
    if (!size) return size.error();
    if (*size > kMaxRecordBytes) {
      return Damaged(fmt::format("a length of {} bytes, {} are possible", *size, kMaxRecordBytes));
    }
    if (*size > bytes_.size() - position_) return CutOff();
    const size_t end = position_ + *size;
    const auto tag = TakeVarint();
    const auto content_size = TakeVarint();
    if (!tag || !content_size || position_ > end || *content_size != end - position_ ||
        (*tag & 7) != kLengthDelimited) {
      return Damaged("not a record");
    }
    const std::string_view content = Text(position_, end);
    position_ = end;
    return TakeContent(*tag >> 3, content);
  }

  Result<void> TakeContent(size_t field, std::string_view content) {
    if (!started_ && field != v1::Record::kStart) return Damaged("no start");
    switch (field) {
      case v1::Record::kStart: return Take(content, &start_, &Decoder::PutStart);
      case v1::Record::kString: profile_.strings.emplace_back(content); return {};
      case v1::Record::kFrame: return Take(content, &frame_, &Decoder::PutFrame);
      case v1::Record::kStack: return Take(content, &stack_, &Decoder::PutStack);
      case v1::Record::kThread: return Take(content, &thread_, &Decoder::PutThread);
      case v1::Record::kEntry: return Take(content, &entry_, &Decoder::PutEntry);
      case v1::Record::kLoss: return Take(content, &loss_, &Decoder::PutLoss);
      case v1::Record::kWarning:
        profile_.warnings.emplace_back(content);
        encoder_.PutWarning(profile_.warnings.back());
        return Verify();
      case v1::Record::kEnd: return Take(content, &end_, &Decoder::PutEnd);
      default: return Damaged("an unknown kind of record");
    }
  }

  template <class Message>
  Result<void> Take(std::string_view content, Message* message,
                    Result<void> (Decoder::*put)(const Message&)) {
    if (!message->ParseFromArray(content.data(), static_cast<int>(content.size()))) {
      return Damaged("not a protobuf message");
    }
    return (this->*put)(*message);
  }

  Result<void> PutStart(const v1::Start& in) {
    if (std::exchange(started_, true)) return Damaged("a second start");
    Origin& origin = profile_.origin;
    origin.producer = in.producer();
    origin.backend = in.backend();
    origin.host = in.host();
    origin.kernel_release = in.kernel_release();
    origin.machine = in.machine();
    origin.command = in.command();
    origin.target = in.target();
    origin.reasons.assign(in.reason().begin(), in.reason().end());
    origin.cpus = in.cpus();
    origin.start_monotonic_ns = in.start_monotonic_ns();
    origin.start_realtime_ns = in.start_realtime_ns();
    origin.time_split = in.time_split();
    origin.estimated = in.estimated();
    profile_.window_ns = in.window_ns();
    profile_.when_bucket_ns = in.when_bucket_ns();
    origin.sample_hz = in.sample_hz();
    encoder_.PutStart();
    return Verify();
  }

  Result<void> PutFrame(const v1::Frame& in) {
    if (in.kind() < static_cast<uint32_t>(FrameKind::kKernel) ||
        in.kind() > static_cast<uint32_t>(FrameKind::kMarker)) {
      return Damaged("a frame of an unknown kind");
    }
    if (!StringOk(in.name()) || !StringOk(in.module())) return Damaged("an unknown string");
    profile_.frames.push_back(
        Frame{static_cast<FrameKind>(in.kind()), in.inlined(), in.name(), in.module()});
    return {};
  }

  Result<void> PutStack(const v1::Stack& in) {
    if (in.parent() >= profile_.nodes.size()) return Damaged("an unknown parent");
    if (in.frame().empty()) return Damaged("a stack without frames");
    NodeId parent = in.parent();
    if (depths_[parent] + static_cast<size_t>(in.frame_size()) > kMaxStackDepth) {
      return Damaged("a stack that is too deep");
    }
    for (const FrameId frame : in.frame()) {
      if (frame == 0 || frame >= profile_.frames.size()) return Damaged("an unknown frame");
      profile_.nodes.push_back({parent, frame});
      depths_.push_back(depths_[parent] + 1);
      parent = static_cast<NodeId>(profile_.nodes.size() - 1);
    }
    return {};
  }

  Result<void> PutThread(const v1::Thread& in) {
    if (!StringOk(in.comm()) || !StringOk(in.process())) return Damaged("an unknown string");
    Thread& thread = profile_.threads.emplace_back();
    thread.pid = in.pid();
    thread.tid = in.tid();
    thread.inner_pid =
        static_cast<model::Pid>(Sum(static_cast<uint32_t>(in.pid()), in.inner_pid()));
    thread.inner_tid =
        static_cast<model::Tid>(Sum(static_cast<uint32_t>(in.tid()), in.inner_tid()));
    thread.comm = in.comm();
    thread.process = in.process();
    thread.kernel_thread = in.kernel_thread();
    thread.merged_threads = in.merged_threads();
    thread.first_ns = in.first_ns();
    thread.last_ns = in.last_ns();
    thread.on_cpu_ns = in.on_cpu_ns();
    thread.sleeping_ns = in.sleeping_ns();
    thread.runqueue_ns = in.runqueue_ns();
    thread.unsplit_ns = in.unsplit_ns();
    thread.runnable_ns = in.runnable_ns();
    thread.preempted_ns = in.preempted_ns();
    thread.newborn_ns = in.newborn_ns();
    thread.unknown_ns = in.unknown_ns();
    thread.voluntary_switches = in.voluntary_switches();
    thread.involuntary_switches = in.involuntary_switches();
    thread.switch_ins = in.switch_ins();
    thread.samples = in.samples();
    encoder_.PutThread(thread);
    return Verify();
  }

  Result<void> PutEntry(const v1::Entry& in) {
    Entry& entry = profile_.entries.emplace_back();
    entry.user_stack = Sum(last_user_stack_, in.user_stack());
    last_user_stack_ = entry.user_stack;
    entry.kernel_stack = Sum(last_kernel_stack_, in.kernel_stack());
    last_kernel_stack_ = entry.kernel_stack;
    if (entry.user_stack >= profile_.nodes.size() || entry.kernel_stack >= profile_.nodes.size()) {
      return Damaged("an unknown stack");
    }
    if (in.thread() >= profile_.threads.size()) return Damaged("an unknown thread");
    if (in.reason() >= model::kReasonCount) return Damaged("an unknown reason");
    entry.reason = ReasonFromFile(in.reason());
    entry.task_state = SwapTaskState(in.task_state());
    entry.thread = in.thread();
    const Thread& thread = profile_.threads[in.thread()];
    entry.comm = in.comm() == 0 ? thread.comm : in.comm() - 1;
    entry.process = in.process() == 0 ? thread.process : in.process() - 1;
    if (!StringOk(entry.comm) || !StringOk(entry.process)) return Damaged("an unknown string");
    entry.left_open = in.left_open();
    entry.right_open = in.right_open();
    entry.before_ns = in.before_ns();
    entry.observed_ns = in.observed_ns();
    entry.estimated_ns = profile_.origin.estimated ? in.estimated_ns() : in.observed_ns();
    entry.runqueue_ns = in.runqueue_ns();
    entry.unsplit_ns = in.unsplit_ns();
    Nanos split = entry.observed_ns;
    if (__builtin_sub_overflow(split, entry.runqueue_ns, &split) ||
        __builtin_sub_overflow(split, entry.unsplit_ns, &split)) {
      return Damaged("parts that are larger than the whole");
    }
    entry.sleeping_ns = split;
    if (auto put = PutLengths(in, &entry); !put) return put;
    if (auto put = PutWhen(in, &entry); !put) return put;
    encoder_.PutEntry(entry);
    return Verify();
  }

  Result<void> PutLengths(const v1::Entry& in, Entry* entry) {
    if (profile_.origin.sampled()) {
      entry->intervals = in.samples();
      return {};
    }
    if (in.lengths().empty()) {
      entry->intervals = 1;
      entry->max_ns = entry->observed_ns;
      entry->lengths = {{LengthBucket(entry->observed_ns), 1}};
      return {};
    }
    entry->max_ns = in.max_ns();
    parts_.clear();
    uint32_t bucket = LengthBucket(in.max_ns()) + 1;  // the one before, from the top down
    for (Parts parts(in.lengths()); !parts.empty();) {
      const auto [count, gap] = parts.Take();
      if (count == 0 || gap >= bucket) return Damaged("lengths that are not possible");
      bucket -= gap + 1;
      parts_.emplace_back(bucket, count);
      if (__builtin_add_overflow(entry->intervals, count, &entry->intervals)) {
        return Damaged("too many intervals");
      }
    }
    entry->lengths.assign(parts_.rbegin(), parts_.rend());
    return {};
  }

  Result<void> PutWhen(const v1::Entry& in, Entry* entry) {
    const unsigned shift = WhenUnitShift(entry->observed_ns);
    const Nanos units = entry->observed_ns >> shift;
    Nanos sum = 0;
    uint32_t next = 0;
    parts_.clear();
    for (Parts parts(in.when()); !parts.empty();) {
      const auto [amount, gap] = parts.Take();
      if (amount == 0 || gap >= kMaxWhenBuckets - next)
        return Damaged("a time line that is not possible");
      parts_.emplace_back(next + gap, amount << shift);
      next += gap + 1;
      sum += amount;
    }
    if (parts_.empty()) return {};
    if (sum != units) return Damaged("a time line that does not add up");
    parts_.back().second += entry->observed_ns - (units << shift);
    entry->when = parts_;
    return {};
  }

  Result<void> PutLoss(const v1::LossSpan& in) {
    profile_.losses.push_back({in.cpu(), in.from_ns(), in.to_ns(), in.events()});
    encoder_.PutLoss(profile_.losses.back());
    return Verify();
  }

  Result<void> PutEnd(const v1::End& in) {
    uint64_t intervals = 0;
    uint64_t observed = 0;
    for (const Entry& entry : profile_.entries) {
      intervals += entry.intervals;
      observed += entry.observed_ns;
    }
    const std::pair<uint64_t, uint64_t> totals[] = {
        {in.strings(), profile_.strings.size() - 1}, {in.frames(), profile_.frames.size() - 1},
        {in.nodes(), profile_.nodes.size() - 1},     {in.threads(), profile_.threads.size() - 1},
        {in.entries(), profile_.entries.size()},     {in.losses(), profile_.losses.size()},
        {in.warnings(), profile_.warnings.size()},   {in.total_intervals(), intervals},
        {in.total_observed_ns(), observed}};
    for (const auto& [told, found] : totals) {
      if (told != found) {
        return Damaged(fmt::format("a total of {}, but the file has {}", told, found));
      }
    }
    profile_.intervals = Counters(in.interval());
    profile_.rejected = Counters(in.rejected());
    profile_.notes = Counters(in.note());
    profile_.lost_events = in.lost_events();
    profile_.loss_spans_dropped = in.loss_spans_dropped();
    ended_ = true;
    encoder_.PutEnd();
    return Verify();
  }

  static std::vector<Counter> Counters(const google::protobuf::RepeatedPtrField<v1::Counter>& in) {
    std::vector<Counter> counters;
    for (const v1::Counter& counter : in) {
      counters.push_back({counter.name(), counter.count(), counter.ns()});
    }
    return counters;
  }

  bool StringOk(StringId id) const { return id < profile_.strings.size(); }

  std::span<const std::byte> bytes_;
  const std::string& name_;
  size_t position_ = 0;
  size_t record_begin_ = 0;
  size_t verified_ = 0;  // up to here the bytes are canonical
  Profile profile_;
  Encoder encoder_{profile_};
  std::vector<uint32_t> depths_{0};  // of the stack nodes
  Histogram parts_;                  // of the histogram being read
  NodeId last_user_stack_ = 0;
  NodeId last_kernel_stack_ = 0;
  bool started_ = false;
  bool ended_ = false;
  v1::Start start_;  // used again and again: they keep their memory
  v1::Frame frame_;
  v1::Stack stack_;
  v1::Thread thread_;
  v1::Entry entry_;
  v1::LossSpan loss_;
  v1::End end_;
};

}  // namespace

Result<Profile> ParseProfile(std::span<const std::byte> bytes, const std::string& name) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string_view magic = text.substr(0, kProfileMagic.size());
  if (magic.empty() || !kProfileMagic.starts_with(magic)) return NotAProfile(text, name);
  if (text.size() < kHeaderBytes) {
    return Failed(fmt::format("{} is cut off at byte {}", name, text.size()),
                  std::string(kDamagedHint));
  }
  const auto low = static_cast<unsigned char>(text[kProfileMagic.size()]);
  const auto high = static_cast<unsigned char>(text[kProfileMagic.size() + 1]);
  const unsigned version = low | static_cast<unsigned>(high) << 8;
  if (version != kProfileVersion) {
    return Failed(fmt::format("{} is a profile of version {}, and this offcpu reads version {}",
                              name, version, kProfileVersion),
                  "read it with the offcpu that wrote it, or with a newer one");
  }
  return Decoder(bytes, name).Run();
}

}  // namespace offcpu::profile
