// SPDX-License-Identifier: MIT
#include "profile/encode.h"

#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "profile/histogram.h"
#include "profile/profile_file.h"
#include "profile/validate.h"
#include "proto/profile.pb.h"

namespace offcpu::profile {

namespace {

constexpr size_t kMaxVarint = 10;

uint8_t* PutVarint(uint64_t value, uint8_t* out) {
  return google::protobuf::io::CodedOutputStream::WriteVarint64ToArray(value, out);
}

// One bucket of a histogram, with the number of empty ones before it.
uint8_t* PutPart(uint64_t amount, uint32_t gap, uint8_t* out) {
  out = PutVarint(amount << 1 | (gap != 0 ? 1 : 0), out);
  return gap == 0 ? out : PutVarint(gap - 1, out);
}

void PutCounters(const std::vector<Counter>& counters,
                 google::protobuf::RepeatedPtrField<v1::Counter>* out) {
  for (const Counter& counter : counters) {
    v1::Counter* row = out->Add();
    row->set_name(counter.name);
    row->set_count(counter.count);
    row->set_ns(counter.ns);
  }
}

}  // namespace

uint8_t* Encoder::RoomFor(const Histogram& histogram) {
  room_.resize(std::max(room_.size(), 2 * kMaxVarint * histogram.size()));
  return room_.data();
}

void Encoder::PutWhen(const Entry& entry) {
  const unsigned shift = WhenUnitShift(entry.observed_ns);
  uint8_t* out = RoomFor(entry.when);
  uint32_t next = 0;
  for (const auto& [bucket, amount] : entry.when) {
    out = PutPart(amount >> shift, bucket - next, out);
    next = bucket + 1;
  }
  entry_.set_when(room_.data(), static_cast<size_t>(out - room_.data()));
}

void Encoder::PutLengths(const Entry& entry) {
  if (profile_.origin.sampled()) {
    entry_.set_samples(entry.intervals);
    return;
  }
  if (entry.intervals == 1) return;
  entry_.set_max_ns(entry.max_ns);
  uint8_t* out = RoomFor(entry.lengths);
  uint32_t next = LengthBucket(entry.max_ns);
  for (auto part = entry.lengths.rbegin(); part != entry.lengths.rend(); ++part) {
    out = PutPart(part->second, next - part->first, out);
    next = part->first - 1;
  }
  entry_.set_lengths(room_.data(), static_cast<size_t>(out - room_.data()));
}

void Encoder::PutHeader() {
  bytes_ += kProfileMagic;
  bytes_ += static_cast<char>(kProfileVersion & 0xff);
  bytes_ += static_cast<char>(kProfileVersion >> 8);
}

// A Record has one field only: its tag and length are the whole of what stands around it.
void Encoder::PutRecordHead(v1::Record::KindCase kind, size_t size) {
  using google::protobuf::io::CodedOutputStream;
  const size_t record_size = 1 + CodedOutputStream::VarintSize64(size) + size;
  OFFCPU_CHECK(record_size <= kMaxRecordBytes);
  std::array<uint8_t, 3 * kMaxVarint> head;
  uint8_t* end = PutVarint(record_size, head.data());
  end = PutVarint(static_cast<uint64_t>(kind) << 3 | kLengthDelimited, end);
  end = PutVarint(size, end);
  bytes_.append(reinterpret_cast<const char*>(head.data()), static_cast<size_t>(end - head.data()));
}

void Encoder::PutRecord(v1::Record::KindCase kind, const google::protobuf::MessageLite& message) {
  const size_t size = message.ByteSizeLong();
  PutRecordHead(kind, size);
  const size_t begin = bytes_.size();
  bytes_.resize(begin + size);
  message.SerializeWithCachedSizesToArray(reinterpret_cast<uint8_t*>(bytes_.data() + begin));
}

void Encoder::PutRecord(v1::Record::KindCase kind, std::string_view text) {
  PutRecordHead(kind, text.size());
  bytes_ += text;
}

// Writes what is not yet written of a kind up to the id; in a canonical profile that is at most
// this one.
void Encoder::NeedString(StringId id) {
  for (; strings_ < id; ++strings_) {
    PutRecord(v1::Record::kString, profile_.strings[strings_ + 1]);
  }
}

void Encoder::NeedFrame(FrameId id) {
  for (; frames_ < id; ++frames_) {
    const Frame& frame = profile_.frames[frames_ + 1];
    NeedString(frame.name);
    NeedString(frame.module);
    frame_.set_kind(static_cast<uint32_t>(frame.kind));
    frame_.set_inlined(frame.inlined);
    frame_.set_name(frame.name);
    frame_.set_module(frame.module);
    PutRecord(v1::Record::kFrame, frame_);
  }
}

void Encoder::NeedStack(NodeId id) {
  const std::vector<StackNode>& nodes = profile_.nodes;
  while (nodes_ < id) {
    const NodeId first = nodes_ + 1;
    NodeId end = first + 1;
    while (end <= id && nodes[end].parent == end - 1) ++end;
    for (NodeId node = first; node < end; ++node) NeedFrame(nodes[node].frame);
    stack_.Clear();
    stack_.set_parent(nodes[first].parent);
    for (NodeId node = first; node < end; ++node) stack_.add_frame(nodes[node].frame);
    PutRecord(v1::Record::kStack, stack_);
    nodes_ = end - 1;
  }
}

void Encoder::PutStart() {
  const Origin& origin = profile_.origin;
  v1::Start start;
  v1::Start* out = &start;
  out->set_producer(origin.producer);
  out->set_backend(origin.backend);
  out->set_host(origin.host);
  out->set_kernel_release(origin.kernel_release);
  out->set_machine(origin.machine);
  out->set_command(origin.command);
  out->set_target(origin.target);
  for (const std::string& reason : origin.reasons) out->add_reason(reason);
  out->set_cpus(origin.cpus);
  out->set_start_monotonic_ns(origin.start_monotonic_ns);
  out->set_start_realtime_ns(origin.start_realtime_ns);
  out->set_time_split(origin.time_split);
  out->set_estimated(origin.estimated);
  out->set_window_ns(profile_.window_ns);
  out->set_when_bucket_ns(profile_.when_bucket_ns);
  out->set_sample_hz(origin.sample_hz);
  PutRecord(v1::Record::kStart, *out);
}

void Encoder::PutThread(const Thread& thread) {
  NeedString(thread.comm);
  NeedString(thread.process);
  v1::Thread* out = &thread_;
  out->set_pid(thread.pid);
  out->set_tid(thread.tid);
  out->set_inner_pid(Difference(thread.inner_pid, thread.pid));
  out->set_inner_tid(Difference(thread.inner_tid, thread.tid));
  out->set_comm(thread.comm);
  out->set_process(thread.process);
  out->set_kernel_thread(thread.kernel_thread);
  out->set_merged_threads(thread.merged_threads);
  out->set_first_ns(thread.first_ns);
  out->set_last_ns(thread.last_ns);
  out->set_on_cpu_ns(thread.on_cpu_ns);
  out->set_sleeping_ns(thread.sleeping_ns);
  out->set_runqueue_ns(thread.runqueue_ns);
  out->set_unsplit_ns(thread.unsplit_ns);
  out->set_runnable_ns(thread.runnable_ns);
  out->set_preempted_ns(thread.preempted_ns);
  out->set_newborn_ns(thread.newborn_ns);
  out->set_unknown_ns(thread.unknown_ns);
  out->set_voluntary_switches(thread.voluntary_switches);
  out->set_involuntary_switches(thread.involuntary_switches);
  out->set_switch_ins(thread.switch_ins);
  out->set_samples(thread.samples);
  PutRecord(v1::Record::kThread, *out);
}

void Encoder::PutEntry(const Entry& entry) {
  NeedStack(entry.user_stack);
  NeedStack(entry.kernel_stack);
  NeedString(entry.comm);
  NeedString(entry.process);
  const Thread& thread = profile_.threads[entry.thread];
  entry_.Clear();
  v1::Entry* out = &entry_;
  out->set_user_stack(Difference(entry.user_stack, last_user_stack_));
  last_user_stack_ = entry.user_stack;
  out->set_kernel_stack(Difference(entry.kernel_stack, last_kernel_stack_));
  last_kernel_stack_ = entry.kernel_stack;
  out->set_reason(ReasonToFile(entry.reason));
  out->set_task_state(SwapTaskState(entry.task_state));
  out->set_thread(entry.thread);
  if (entry.comm != thread.comm) out->set_comm(entry.comm + 1);
  if (entry.process != thread.process) out->set_process(entry.process + 1);
  out->set_observed_ns(entry.observed_ns);
  out->set_runqueue_ns(entry.runqueue_ns);
  out->set_unsplit_ns(entry.unsplit_ns);
  PutWhen(entry);
  PutLengths(entry);
  out->set_left_open(entry.left_open);
  out->set_right_open(entry.right_open);
  out->set_before_ns(entry.before_ns);
  if (profile_.origin.estimated) out->set_estimated_ns(entry.estimated_ns);
  PutRecord(v1::Record::kEntry, *out);
  total_intervals_ += entry.intervals;
  total_observed_ns_ += entry.observed_ns;
}

void Encoder::PutLoss(const LossSpan& loss) {
  v1::LossSpan out;
  out.set_cpu(loss.cpu);
  out.set_from_ns(loss.from_ns);
  out.set_to_ns(loss.to_ns);
  out.set_events(loss.events);
  PutRecord(v1::Record::kLoss, out);
}

void Encoder::PutWarning(const std::string& warning) { PutRecord(v1::Record::kWarning, warning); }

void Encoder::PutEnd() {
  v1::End end;
  v1::End* out = &end;
  out->set_strings(strings_);
  out->set_frames(frames_);
  out->set_nodes(nodes_);
  out->set_threads(profile_.threads.size() - 1);
  out->set_entries(profile_.entries.size());
  out->set_losses(profile_.losses.size());
  out->set_warnings(profile_.warnings.size());
  out->set_total_intervals(total_intervals_);
  out->set_total_observed_ns(total_observed_ns_);
  PutCounters(profile_.intervals, out->mutable_interval());
  PutCounters(profile_.rejected, out->mutable_rejected());
  PutCounters(profile_.notes, out->mutable_note());
  out->set_lost_events(profile_.lost_events);
  out->set_loss_spans_dropped(profile_.loss_spans_dropped);
  PutRecord(v1::Record::kEnd, *out);
}

std::string EncodeProfile(const Profile& profile) {
  Encoder encoder(profile);
  encoder.PutHeader();
  encoder.PutStart();
  for (size_t i = 1; i < profile.threads.size(); ++i) encoder.PutThread(profile.threads[i]);
  for (const Entry& entry : profile.entries) encoder.PutEntry(entry);
  for (const LossSpan& loss : profile.losses) encoder.PutLoss(loss);
  for (const std::string& warning : profile.warnings) encoder.PutWarning(warning);
  encoder.PutEnd();
  return std::move(encoder.bytes());
}

std::string SerializeProfile(const Profile& profile) {
  OFFCPU_CHECK(ValidateProfile(profile).has_value());
  return EncodeProfile(profile);
}

}  // namespace offcpu::profile
