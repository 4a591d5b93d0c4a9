// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profile/profile.h"
#include "proto/profile.pb.h"

// What writer and reader of the file share.
namespace offcpu::profile {

using namespace std::string_view_literals;
constexpr std::string_view kProfileMagic = "OFFCPUPRF\0"sv;
constexpr size_t kHeaderBytes = 12;       // the magic and the version, little endian
constexpr unsigned kLengthDelimited = 2;  // protobuf's wire type of all records' fields

// Entry.reason counts from the usual one, so that this needs no byte.
constexpr uint32_t ReasonToFile(model::Reason reason) {
  return (static_cast<uint32_t>(reason) + model::kReasonCount - 1) % model::kReasonCount;
}
constexpr model::Reason ReasonFromFile(uint32_t reason) {
  return static_cast<model::Reason>((reason + 1) % model::kReasonCount);
}

// Differences of ids are signed and wrap, so that any two can be told by one.
constexpr int32_t Difference(uint32_t a, uint32_t b) { return static_cast<int32_t>(a - b); }
constexpr uint32_t Sum(uint32_t a, int32_t difference) {
  return a + static_cast<uint32_t>(difference);
}

// The same for Entry.task_state, both ways.
constexpr uint32_t SwapTaskState(uint32_t state) { return state ^ model::kTaskInterruptible; }

// Writes the file row by row, threads before entries, in the order of the profile; what a row needs
// goes before it. Any profile will do whose ids and histogram buckets are valid so far.
class Encoder {
 public:
  explicit Encoder(const Profile& profile) : profile_(profile) {}

  void PutHeader();
  void PutStart();
  void PutThread(const Thread& thread);
  void PutEntry(const Entry& entry);
  void PutLoss(const LossSpan& loss);
  void PutWarning(const std::string& warning);
  void PutEnd();

  // What was put since this was last cleared.
  std::string& bytes() { return bytes_; }

 private:
  void PutRecordHead(v1::Record::KindCase kind, size_t size);
  void PutRecord(v1::Record::KindCase kind, const google::protobuf::MessageLite& message);
  void PutRecord(v1::Record::KindCase kind, std::string_view text);
  void NeedString(StringId id);
  void NeedFrame(FrameId id);
  void NeedStack(NodeId id);
  uint8_t* RoomFor(const Histogram& histogram);
  void PutWhen(const Entry& entry);
  void PutLengths(const Entry& entry);

  const Profile& profile_;
  std::string bytes_;
  StringId strings_ = 0;  // the last ids written
  FrameId frames_ = 0;
  NodeId nodes_ = 0;
  NodeId last_user_stack_ = 0;
  NodeId last_kernel_stack_ = 0;
  uint64_t total_intervals_ = 0;
  uint64_t total_observed_ns_ = 0;
  std::vector<uint8_t> room_;
  v1::Frame frame_;  // used again and again: they keep their memory
  v1::Stack stack_;
  v1::Thread thread_;
  v1::Entry entry_;
};

// The whole file.
std::string EncodeProfile(const Profile& profile);

}  // namespace offcpu::profile
