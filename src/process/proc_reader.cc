// SPDX-License-Identifier: MIT
#include "process/proc_reader.h"

#include <dirent.h>

#include <algorithm>
#include <memory>

#include "base/files.h"
#include "base/parse.h"

namespace offcpu::process {
namespace {

std::string TaskPath(model::Pid pid, model::Tid tid, const char* file) {
  return "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/" + file;
}

std::vector<int32_t> ListNumbers(const std::string& path) {
  std::vector<int32_t> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), ::closedir);
  if (!directory) return numbers;
  while (const dirent* entry = ::readdir(directory.get())) {
    int32_t number = 0;
    if (ParseNumber(std::string_view(entry->d_name), &number) && number > 0) {
      numbers.push_back(number);
    }
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

// The value behind "name:" at the beginning of a line, as in /proc/PID/status.
std::optional<std::string_view> LineValue(std::string_view text, std::string_view name) {
  for (std::string_view line : Split(text, '\n')) {
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ':') {
      return Trim(line.substr(name.size() + 1));
    }
  }
  return std::nullopt;
}

std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words;
  while (!(text = Trim(text)).empty()) {
    const size_t end = text.find_first_of(" \t");
    words.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end);
  }
  return words;
}

// "start-end perms offset major:minor inode    path"
bool ParseMappingLine(std::string_view line, model::Map* map) {
  // The path may hold blanks, so it is what stands behind the fifth field.
  std::string_view rest = line;
  std::string_view fields[5];
  for (std::string_view& field : fields) {
    const size_t end = rest.find(' ');
    field = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  const size_t dash = fields[0].find('-');
  const size_t colon = fields[3].find(':');
  if (dash == std::string_view::npos || colon == std::string_view::npos) return false;
  uint64_t end = 0;
  const bool good = ParseNumber(fields[0].substr(0, dash), &map->start, 16) &&
                    ParseNumber(fields[0].substr(dash + 1), &end, 16) && end > map->start &&
                    ParseNumber(fields[2], &map->file_offset, 16) &&
                    ParseNumber(fields[3].substr(0, colon), &map->device_major, 16) &&
                    ParseNumber(fields[3].substr(colon + 1), &map->device_minor, 16) &&
                    ParseNumber(fields[4], &map->inode);
  map->length = end - map->start;
  map->path = Trim(rest);
  return good && fields[1].size() >= 3 && fields[1][2] == 'x';
}

}  // namespace

std::optional<ThreadStat> ParseThreadStat(std::string_view text) {
  // The name stands in parentheses and may hold any byte, ')' and blanks too: find its end from the
  // right.
  const size_t open = text.find('(');
  const size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return {};
  const std::vector<std::string_view> fields = Words(text.substr(close + 1));
  // Fields 3, 4, 9, 22, 39.
  constexpr size_t kState = 0, kParent = 1, kFlags = 6, kStart = 19, kProcessor = 36;
  if (fields.size() <= kProcessor || fields[kState].size() != 1) return {};
  ThreadStat stat;
  stat.comm = model::MakeComm(text.substr(open + 1, close - open - 1));
  stat.task_state = model::StateOfLetter(fields[kState][0]);
  uint64_t flags = 0;
  if (!ParseNumber(fields[kParent], &stat.parent) || !ParseNumber(fields[kFlags], &flags) ||
      !ParseNumber(fields[kStart], &stat.start_ticks) ||
      !ParseNumber(fields[kProcessor], &stat.cpu)) {
    return {};
  }
  stat.kernel_thread = (flags & kPfKthread) != 0;
  return stat;
}

std::optional<ThreadStat> ReadThreadStat(model::Pid pid, model::Tid tid) {
  const auto text = ReadSmallFile(TaskPath(pid, tid, "stat"));
  return text ? ParseThreadStat(*text) : std::nullopt;
}

std::vector<model::Pid> ListProcesses() { return ListNumbers("/proc"); }

std::vector<model::Tid> ListThreads(model::Pid pid) {
  return ListNumbers("/proc/" + std::to_string(pid) + "/task");
}

std::optional<uint64_t> ParseSwitchCount(std::string_view text) {
  uint64_t sum = 0;
  for (const char* name : {"voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"}) {
    const auto value = LineValue(text, name);
    uint64_t count = 0;
    if (!value || !ParseNumber(*value, &count)) return std::nullopt;
    sum += count;
  }
  return sum;
}

std::optional<uint64_t> ReadSwitchCount(model::Pid pid, model::Tid tid) {
  const auto text = ReadSmallFile(TaskPath(pid, tid, "status"));
  return text ? ParseSwitchCount(*text) : std::nullopt;
}

std::optional<model::Pid> ProcessOfThread(model::Tid tid) {
  const auto text = ReadSmallFile("/proc/" + std::to_string(tid) + "/status");
  if (!text) return std::nullopt;
  const auto value = LineValue(*text, "Tgid");
  model::Pid pid = 0;
  if (!value || !ParseNumber(*value, &pid)) return std::nullopt;
  return pid;
}

std::optional<model::Comm> ProgramOfLoader(std::string_view cmdline) {
  const std::vector<std::string_view> words = Split(cmdline, '\0');
  for (size_t i = 1; i < words.size(); ++i) {
    // The loader's options that take a word (ld.so(8)); the others stand alone.
    const bool takes_word = words[i] == "--library-path" || words[i] == "--inhibit-rpath" ||
                            words[i] == "--audit" || words[i] == "--argv0" ||
                            words[i] == "--preload" || words[i] == "--glibc-hwcaps-prepend" ||
                            words[i] == "--glibc-hwcaps-mask";
    if (takes_word) {
      ++i;
    } else if (!words[i].starts_with("--")) {
      return model::MakeComm(words[i].substr(words[i].rfind('/') + 1));
    }
  }
  return std::nullopt;
}

std::optional<model::Comm> NameBehindLoader(model::Pid pid, const model::Comm& comm) {
  const std::string_view name = model::CommView(comm);
  if (!name.starts_with("ld-linux") && !name.starts_with("ld-musl") && !name.starts_with("ld.so") &&
      !name.starts_with("ld64.so")) {
    return std::nullopt;
  }
  const auto cmdline = ReadSmallFile("/proc/" + std::to_string(pid) + "/cmdline");
  return cmdline ? ProgramOfLoader(*cmdline) : std::nullopt;
}

model::Tid InnerTid(model::Pid pid, model::Tid tid) {
  const auto text = ReadSmallFile(TaskPath(pid, tid, "status"));
  if (!text) return tid;
  const auto value = LineValue(*text, "NSpid");
  model::Tid inner = 0;
  if (!value || !ParseNumber(value->substr(value->find_last_of(" \t") + 1), &inner)) return tid;
  return inner;
}

std::vector<model::Map> ParseMappings(std::string_view text, model::Pid pid) {
  std::vector<model::Map> maps;
  for (std::string_view line : Split(text, '\n')) {
    model::Map map;
    map.pid = pid;
    if (ParseMappingLine(line, &map)) maps.push_back(map);
  }
  return maps;
}

Mappings ReadMappings(model::Pid pid) {
  Mappings result;
  auto text = ReadSmallFile("/proc/" + std::to_string(pid) + "/maps");
  if (!text) return result;
  result.text = std::move(*text);
  result.maps = ParseMappings(result.text, pid);
  return result;
}

std::optional<Nanos> ParseExecStart(std::string_view text) {
  for (std::string_view line : Split(text, '\n')) {
    if (!line.starts_with("se.exec_start")) continue;
    const std::string_view value = Trim(line.substr(std::min(line.find(':') + 1, line.size())));
    const size_t point = value.find('.');  // milliseconds with six decimals
    uint64_t millis = 0;
    uint64_t rest = 0;
    if (point == std::string_view::npos || value.size() - point - 1 != 6 ||
        !ParseNumber(value.substr(0, point), &millis) ||
        !ParseNumber(value.substr(point + 1), &rest) || millis > INT64_MAX / 1'000'000) {
      return std::nullopt;
    }
    return millis * 1'000'000 + rest;
  }
  return std::nullopt;
}

std::optional<Nanos> ReadExecStart(model::Pid pid, model::Tid tid) {
  const auto text = ReadSmallFile(TaskPath(pid, tid, "sched"));
  return text ? ParseExecStart(*text) : std::nullopt;
}

std::vector<std::string> ParseKernelStack(std::string_view text) {
  std::vector<std::string> functions;
  for (std::string_view line : Split(text, '\n')) {  // "[<0>] hrtimer_nanosleep+0x74/0x110"
    const size_t bracket = line.find("] ");
    if (bracket == std::string_view::npos) continue;
    std::string_view name = Trim(line.substr(bracket + 2));
    name = name.substr(0, name.find('+'));
    if (!name.empty() && name != "0xffffffffffffffff") functions.emplace_back(name);
  }
  return functions;
}

std::vector<std::string> ReadKernelStack(model::Pid pid, model::Tid tid) {
  const auto text = ReadSmallFile(TaskPath(pid, tid, "stack"));
  return text ? ParseKernelStack(*text) : std::vector<std::string>{};
}

}  // namespace offcpu::process
