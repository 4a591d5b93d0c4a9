// SPDX-License-Identifier: MIT
#include "output/thread_table.h"

#include <algorithm>
#include <iterator>

#include "output/csv.h"
#include "output/json.h"
#include "output/missing.h"
#include "output/terminal.h"
#include "output/text_table.h"

namespace offcpu::output {
namespace {

using profile::Profile;
using profile::Thread;
using profile::ThreadId;

// The one list of columns behind JSON and CSV; scripts rely on names and order.
Json RowJson(const Profile& profile, const Thread& thread) {
  Json row;
  row["pid"] = thread.pid;
  row["tid"] = thread.tid;
  row["comm"] = profile.String(thread.comm);
  row["first_ns"] = thread.first_ns;
  row["last_ns"] = thread.last_ns;
  row["on_cpu_ns"] = thread.on_cpu_ns;
  row["blocked_ns"] = thread.blocked_ns();
  row["sleeping_ns"] = thread.sleeping_ns;
  row["runqueue_ns"] = thread.runqueue_ns;
  row["unsplit_ns"] = thread.unsplit_ns;
  row["runnable_ns"] = thread.runnable_ns;
  row["preempted_ns"] = thread.preempted_ns;
  row["newborn_ns"] = thread.newborn_ns;
  row["unknown_ns"] = thread.unknown_ns;
  row["voluntary_switches"] = thread.voluntary_switches;
  row["involuntary_switches"] = thread.involuntary_switches;
  row["process"] = profile.String(thread.process);
  row["inner_pid"] = thread.inner_pid;
  row["inner_tid"] = thread.inner_tid;
  row["kernel_thread"] = thread.kernel_thread;
  row["switch_ins"] = thread.switch_ins;
  row["merged_threads"] = thread.merged_threads;
  return row;
}

std::string CellText(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string CommCell(const Profile& profile, const Thread& thread) {
  std::string comm(profile.String(thread.comm));
  if (thread.merged_threads > 0) {
    comm += " (" + std::to_string(thread.merged_threads) + " ended threads)";
  }
  return comm;
}

bool InNamespace(const Thread& thread) {
  return thread.inner_pid != thread.pid || thread.inner_tid != thread.tid;
}

void AddTo(Thread& sum, const Thread& thread) {
  sum.last_ns += thread.last_ns - thread.first_ns;
  sum.on_cpu_ns += thread.on_cpu_ns;
  sum.sleeping_ns += thread.sleeping_ns;
  sum.runqueue_ns += thread.runqueue_ns;
  sum.unsplit_ns += thread.unsplit_ns;
  sum.runnable_ns += thread.runnable_ns;
  sum.preempted_ns += thread.preempted_ns;
  sum.newborn_ns += thread.newborn_ns;
  sum.unknown_ns += thread.unknown_ns;
  sum.voluntary_switches += thread.voluntary_switches;
  sum.involuntary_switches += thread.involuntary_switches;
}

std::vector<std::string> TimeCells(const Thread& thread) {
  return {FormatDuration(thread.last_ns - thread.first_ns),
          FormatDuration(thread.on_cpu_ns),
          FormatDuration(thread.sleeping_ns),
          FormatDuration(thread.runqueue_ns),
          FormatDuration(thread.unsplit_ns),
          FormatDuration(thread.runnable_ns),
          FormatDuration(thread.preempted_ns),
          FormatDuration(thread.newborn_ns),
          FormatDuration(thread.unknown_ns),
          std::to_string(thread.voluntary_switches),
          std::to_string(thread.involuntary_switches)};
}

std::vector<TextTable::Column> Columns(bool with_inner_ids) {
  std::vector<TextTable::Column> columns{{"PID"}, {"TID"}};
  if (with_inner_ids) columns.push_back({"INNER PID/TID"});
  columns.push_back({"THREAD", TextTable::Align::kLeft});
  columns.push_back({"PROCESS", TextTable::Align::kLeft});
  for (const char* title : {"LIFE", "ON-CPU", "SLEEPING", "RUN-QUEUE", "UNSPLIT", "RUNNABLE",
                            "PREEMPTED", "NEWBORN", "UNKNOWN", "VOLUNTARY", "INVOLUNTARY"}) {
    columns.push_back({title});
  }
  return columns;
}

}  // namespace

std::string ThreadsText(const Profile& profile, const std::vector<ThreadId>& order) {
  const bool with_inner_ids = std::any_of(order.begin(), order.end(), [&profile](ThreadId id) {
    return InNamespace(profile.threads[id]);
  });
  TextTable table(Columns(with_inner_ids));
  const auto add = [&](std::vector<std::string> cells, const std::string& inner,
                       const Thread& thread) {
    if (with_inner_ids) cells.insert(cells.begin() + 2, inner);
    std::ranges::move(TimeCells(thread), std::back_inserter(cells));
    table.AddRow(std::move(cells));
  };
  Thread sum;
  for (const ThreadId id : order) {
    const Thread& thread = profile.threads[id];
    const std::string tid = thread.tid == 0 ? "-" : std::to_string(thread.tid);
    const std::string inner = InNamespace(thread) ? std::to_string(thread.inner_pid) + '/' +
                                                        std::to_string(thread.inner_tid)
                                                  : "";
    add({std::to_string(thread.pid), tid, CommCell(profile, thread),
         std::string(profile.String(thread.process))},
        inner, thread);
    AddTo(sum, thread);
  }
  add({"total", "", "", ""}, "", sum);
  const std::string losses = LossText(profile);
  const std::string sampled = SampledLine(profile);
  return "Window " + FormatDuration(profile.window_ns) + ", " + std::to_string(order.size()) +
         " rows. LIFE is a thread's time inside the window; the columns from ON-CPU to UNKNOWN add "
         "up to it.\nVOLUNTARY and INVOLUNTARY count switch-outs: blocked, and runnable or "
         "preempted.\n\n" +
         table.Render() + (losses.empty() ? "" : '\n' + losses + ".\n") +
         (sampled.empty() ? "" : '\n' + sampled + '\n');
}

std::string ThreadsJson(const Profile& profile, const std::vector<ThreadId>& order) {
  Json json;
  json["window_ns"] = profile.window_ns;
  if (profile.origin.sampled()) json["sample_hz"] = profile.origin.sample_hz;
  json["threads"] = Json::array();
  for (const ThreadId id : order) {
    json["threads"].push_back(RowJson(profile, profile.threads[id]));
  }
  return JsonDocument(json);
}

std::string ThreadsCsv(const Profile& profile, const std::vector<ThreadId>& order) {
  std::vector<std::string> cells;
  const Json titles = RowJson(profile, Thread());
  for (const auto& [name, value] : titles.items()) cells.push_back(name);
  std::string text = CsvRow(cells);
  for (const ThreadId id : order) {
    cells.clear();
    const Json row = RowJson(profile, profile.threads[id]);
    for (const Json& value : row) cells.push_back(CellText(value));
    text += CsvRow(cells);
  }
  return text;
}

}  // namespace offcpu::output
