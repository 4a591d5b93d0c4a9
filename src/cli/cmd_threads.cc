// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <climits>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/log.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/profile_input.h"
#include "output/missing.h"
#include "output/thread_table.h"

namespace offcpu::cli {
namespace {

using profile::Thread;
using profile::ThreadId;

struct ThreadsOptions {
  ProfileInput input;
  std::string sort = "pid";
  std::vector<int> pids;
};

// What a row is sorted by, the largest first.
using SortKey = uint64_t (*)(const Thread&);
constexpr std::array<std::pair<const char*, SortKey>, 9> kSortKeys{
    {{"on-cpu", [](const Thread& t) -> uint64_t { return t.on_cpu_ns; }},
     {"blocked", [](const Thread& t) -> uint64_t { return t.blocked_ns(); }},
     {"sleeping", [](const Thread& t) -> uint64_t { return t.sleeping_ns; }},
     {"runqueue", [](const Thread& t) -> uint64_t { return t.runqueue_ns; }},
     {"preempted", [](const Thread& t) -> uint64_t { return t.runnable_ns + t.preempted_ns; }},
     {"unknown", [](const Thread& t) -> uint64_t { return t.unknown_ns; }},
     {"life", [](const Thread& t) -> uint64_t { return t.last_ns - t.first_ns; }},
     {"voluntary", [](const Thread& t) -> uint64_t { return t.voluntary_switches; }},
     {"involuntary", [](const Thread& t) -> uint64_t { return t.involuntary_switches; }}}};

std::vector<ThreadId> OrderOf(const profile::Profile& profile, const ThreadsOptions& options) {
  std::vector<ThreadId> order;
  for (ThreadId id = 1; id < profile.threads.size(); ++id) {
    const auto& pids = options.pids;
    const bool wanted = std::find(pids.begin(), pids.end(), profile.threads[id].pid) != pids.end();
    if (pids.empty() || wanted) order.push_back(id);
  }
  SortKey key = [](const Thread&) { return uint64_t{0}; };
  for (const auto& [name, function] : kSortKeys) {
    if (options.sort == name) key = function;
  }
  std::sort(order.begin(), order.end(), [&](ThreadId left, ThreadId right) {
    const Thread& a = profile.threads[left];
    const Thread& b = profile.threads[right];
    if (key(a) != key(b)) return key(a) > key(b);
    return std::tie(a.pid, a.tid, left) < std::tie(b.pid, b.tid, right);
  });
  return order;
}

Result<int> RunThreads(const ThreadsOptions& options) {
  Result<profile::Profile> profile = ReadInput(options.input);
  if (!profile) return profile.error();
  const std::vector<ThreadId> order = OrderOf(*profile, options);
  const std::string& format = options.input.format;
  const std::string result = format == "json"  ? output::ThreadsJson(*profile, order)
                             : format == "csv" ? output::ThreadsCsv(*profile, order)
                                               : output::ThreadsText(*profile, order);
  if (Result<void> written = WriteResult(options.input, result); !written) return written.error();
  if (const std::string losses = output::LossText(*profile); format != "text" && !losses.empty()) {
    LogInfo(losses);
  }
  if (const std::string sampled = output::SampledLine(*profile);
      format == "csv" && !sampled.empty()) {
    LogInfo(sampled);
  }
  if (order.empty()) {
    LogInfo(profile->threads.size() > 1 ? "no thread of these processes is in the profile"
                                        : "the profile holds no thread");
  }
  return kExitDone;
}

}  // namespace

Command AddThreads(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("threads", "One row a thread: where its time in the window went");
  auto options = std::make_shared<ThreadsOptions>();
  AddProfileInput(*command, options->input, {"text", "json", "csv"});
  std::vector<std::string> keys{"pid"};
  for (const auto& [name, function] : kSortKeys) keys.emplace_back(name);
  command->add_option("--sort", options->sort, "Order of the rows, the largest first")
      ->check(CLI::IsMember(keys))
      ->type_name("WORD")
      ->capture_default_str()
      ->group("Selection");
  command->add_option("--pid", options->pids, "Only threads of this process; repeatable")
      ->allow_extra_args(false)
      ->check(CLI::Range(0, INT_MAX))
      ->type_name("PID")
      ->group("Selection");
  return {command, [options] { return RunThreads(*options); }};
}

}  // namespace offcpu::cli
