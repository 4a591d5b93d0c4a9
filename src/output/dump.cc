// SPDX-License-Identifier: MIT
#include "output/dump.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "output/json.h"
#include "output/missing.h"
#include "output/terminal.h"
#include "sched/state_letters.h"

namespace offcpu::output {
namespace {

using profile::Profile;

const char* NameOf(profile::FrameKind kind) {
  switch (kind) {
    case profile::FrameKind::kKernel: return "kernel";
    case profile::FrameKind::kUser: return "user";
    case profile::FrameKind::kJit: return "jit";
    case profile::FrameKind::kMarker: break;
  }
  return "marker";
}

Json Record(const char* kind, uint64_t id) {
  Json record;
  record["kind"] = kind;
  if (id != 0) record["id"] = id;
  return record;
}

Json StartRecord(const Profile& profile) {
  const profile::Origin& origin = profile.origin;
  Json record = Record("start", 0);
  record["producer"] = origin.producer;
  record["backend"] = origin.backend;
  record["host"] = origin.host;
  record["kernel_release"] = origin.kernel_release;
  record["machine"] = origin.machine;
  record["command"] = origin.command;
  record["target"] = origin.target;
  record["reasons"] = origin.reasons;
  record["cpus"] = origin.cpus;
  record["start_monotonic_ns"] = origin.start_monotonic_ns;
  record["start_realtime_ns"] = origin.start_realtime_ns;
  record["time_split"] = origin.time_split;
  record["estimated"] = origin.estimated;
  if (origin.sampled()) record["sample_hz"] = origin.sample_hz;
  record["window_ns"] = profile.window_ns;
  record["when_bucket_ns"] = profile.when_bucket_ns;
  return record;
}

Json FrameRecord(const Profile& profile, profile::FrameId id) {
  const profile::Frame& frame = profile.frames[id];
  Json record = Record("frame", id);
  record["frame_kind"] = NameOf(frame.kind);
  record["inlined"] = frame.inlined;
  record["name"] = profile.String(frame.name);
  record["module"] = profile.String(frame.module);
  return record;
}

Json NodeRecord(const Profile& profile, profile::NodeId id) {
  const profile::StackNode& node = profile.nodes[id];
  Json record = Record("node", id);
  record["parent"] = node.parent;
  record["frame"] = node.frame;
  record["name"] = profile.String(profile.frames[node.frame].name);
  return record;
}

Json ThreadRecord(const Profile& profile, profile::ThreadId id) {
  const profile::Thread& thread = profile.threads[id];
  Json record = Record("thread", id);
  record["pid"] = thread.pid;
  record["tid"] = thread.tid;
  record["inner_pid"] = thread.inner_pid;
  record["inner_tid"] = thread.inner_tid;
  record["comm"] = profile.String(thread.comm);
  record["process"] = profile.String(thread.process);
  record["kernel_thread"] = thread.kernel_thread;
  record["merged_threads"] = thread.merged_threads;
  record["first_ns"] = thread.first_ns;
  record["last_ns"] = thread.last_ns;
  record["on_cpu_ns"] = thread.on_cpu_ns;
  record["sleeping_ns"] = thread.sleeping_ns;
  record["runqueue_ns"] = thread.runqueue_ns;
  record["unsplit_ns"] = thread.unsplit_ns;
  record["runnable_ns"] = thread.runnable_ns;
  record["preempted_ns"] = thread.preempted_ns;
  record["newborn_ns"] = thread.newborn_ns;
  record["unknown_ns"] = thread.unknown_ns;
  record["voluntary_switches"] = thread.voluntary_switches;
  record["involuntary_switches"] = thread.involuntary_switches;
  record["switch_ins"] = thread.switch_ins;
  if (profile.origin.sampled()) record["samples"] = thread.samples;
  return record;
}

Json EntryRecord(const Profile& profile, const profile::Entry& entry, uint64_t number) {
  Json record = Record("entry", number);
  record["user_stack"] = entry.user_stack;
  record["kernel_stack"] = entry.kernel_stack;
  record["reason"] = model::kReasonNames[static_cast<size_t>(entry.reason)];
  record["task_state"] = sched::StateLetters(entry.task_state);
  record["thread"] = entry.thread;
  record["comm"] = profile.String(entry.comm);
  record["process"] = profile.String(entry.process);
  record[CountName(profile)] = entry.intervals;
  record["left_open"] = entry.left_open;
  record["right_open"] = entry.right_open;
  record["before_ns"] = entry.before_ns;
  record["observed_ns"] = entry.observed_ns;
  record["estimated_ns"] = entry.estimated_ns;
  record["sleeping_ns"] = entry.sleeping_ns;
  record["runqueue_ns"] = entry.runqueue_ns;
  record["unsplit_ns"] = entry.unsplit_ns;
  record["max_ns"] = entry.max_ns;
  record["when"] = entry.when;
  record["lengths"] = entry.lengths;
  return record;
}

Json LossRecord(const profile::LossSpan& loss) {
  Json record = Record("loss", 0);
  record["cpu"] = loss.cpu;
  record["from_ns"] = loss.from_ns;
  record["to_ns"] = loss.to_ns;
  record["events"] = loss.events;
  return record;
}

Json EndRecord(const Profile& profile) {
  Json record = Record("end", 0);
  record["intervals"] = CountersJson(profile.intervals);
  record["rejected"] = CountersJson(profile.rejected);
  record["notes"] = CountersJson(profile.notes);
  record["lost_events"] = profile.lost_events;
  record["loss_spans_dropped"] = profile.loss_spans_dropped;
  record["warnings"] = profile.warnings;
  return record;
}

// "frame 7 frame_kind=user inlined=false name="main" module="demo""
std::string TextLine(const Json& record) {
  std::string line;
  for (const auto& [key, value] : record.items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : std::string();
    if (key == "kind") {
      line += text;
    } else if (key == "id") {
      line += ' ' + value.dump();
    } else {
      line += ' ' + key + '=' +
              (value.is_string()
                   ? '"' + Printable(text) + '"'
                   : Printable(value.dump(-1, ' ', false, Json::error_handler_t::replace)));
    }
  }
  return line + '\n';
}

}  // namespace

Result<void> Dump(const Profile& profile, DumpFormat format, const Writer& write) {
  constexpr size_t kPiece = 1U << 16;
  std::string text;
  Result<void> result;
  const auto add = [&](const Json& record) {
    text += format == DumpFormat::kJson ? JsonLine(record) : TextLine(record);
    if (text.size() < kPiece || !result) return;
    result = write(text);
    text.clear();
  };
  add(StartRecord(profile));
  for (profile::StringId id = 1; id < profile.strings.size(); ++id) {
    Json record = Record("string", id);
    record["value"] = profile.strings[id];
    add(record);
  }
  for (profile::FrameId id = 1; id < profile.frames.size(); ++id) add(FrameRecord(profile, id));
  for (profile::NodeId id = 1; id < profile.nodes.size(); ++id) add(NodeRecord(profile, id));
  for (profile::ThreadId id = 1; id < profile.threads.size(); ++id) add(ThreadRecord(profile, id));
  uint64_t number = 0;
  for (const profile::Entry& entry : profile.entries) add(EntryRecord(profile, entry, ++number));
  for (const profile::LossSpan& loss : profile.losses) add(LossRecord(loss));
  add(EndRecord(profile));
  return result ? write(text) : result;
}

}  // namespace offcpu::output
