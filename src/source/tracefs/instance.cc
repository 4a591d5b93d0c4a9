// SPDX-License-Identifier: MIT
#include "source/tracefs/instance.h"

#include <traceevent/event-parse.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/parse.h"

// What is used of libtracefs. Its header is not valid C++ (1.6.4: an inline function passes an int
// for an enumeration), so these are said again.
extern "C" {
tracefs_instance* tracefs_instance_create(const char* name);
bool tracefs_instance_is_new(tracefs_instance* instance);
int tracefs_instance_destroy(tracefs_instance* instance);
void tracefs_instance_free(tracefs_instance* instance);
int tracefs_instances_walk(int (*callback)(const char*, void*), void* context);
int tracefs_instance_file_write(tracefs_instance* instance, const char* file, const char* text);
char* tracefs_instance_get_file(tracefs_instance* instance, const char* file);
void tracefs_put_tracing_file(char* name);
bool tracefs_file_exists(tracefs_instance* instance, const char* name);
void tracefs_set_loglevel(tep_loglevel level);
}

namespace offcpu::source::tracefs {
namespace {

constexpr std::string_view kPrefix = "offcpu-";
constexpr int kMaxInstances = 100;  // of one process
constexpr char kWriteHint[] =
    "run as root: an instance of its own is made below instances/; see offcpu-permissions(7)";

std::optional<std::string> StartTimeOfProcess(model::Pid pid) {
  const auto stat = ReadSmallFile(fmt::format("/proc/{}/stat", pid));
  if (!stat) return std::nullopt;
  return std::string(StartTimeOf(*stat));
}

int AddName(const char* name, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

std::vector<std::string> InstanceNames() {
  std::vector<std::string> names;
  tracefs_instances_walk(AddName, &names);
  return names;
}

}  // namespace

std::string_view StartTimeOf(std::string_view stat) {
  constexpr size_t kField = 22 - 3;  // counted from the one behind the name
  const size_t end_of_name = stat.rfind(')');
  if (end_of_name == std::string_view::npos || end_of_name + 2 > stat.size()) return {};
  const auto fields = Split(stat.substr(end_of_name + 2), ' ');
  return fields.size() > kField ? fields[kField] : std::string_view{};
}

bool IsLeftover(std::string_view name, ReadStartTime read_start_time) {
  if (!name.starts_with(kPrefix)) return false;
  const auto parts = Split(name.substr(kPrefix.size()), '-');
  model::Pid pid = 0;
  uint64_t start = 0;
  if (parts.size() < 2 || !ParseNumber(parts[0], &pid) || pid <= 0 ||
      !ParseNumber(parts[1], &start)) {
    return false;
  }
  const auto now = read_start_time(pid);
  return !now || *now != parts[1];
}

std::vector<std::string> RemoveLeftovers() {
  std::vector<std::string> stuck;
  for (const std::string& name : InstanceNames()) {
    if (!IsLeftover(name, StartTimeOfProcess)) continue;
    tracefs_instance* instance = tracefs_instance_create(name.c_str());  // it exists: opens it
    if (instance == nullptr || tracefs_instance_destroy(instance) != 0) stuck.push_back(name);
    if (instance != nullptr) tracefs_instance_free(instance);
  }
  return stuck;
}

Instance::Instance(tracefs_instance* instance, std::string name)
    : instance_(instance), name_(std::move(name)) {}

void Instance::Destroy::operator()(tracefs_instance* instance) const {
  // Nothing can be done about a failure here; the next recording tries again.
  tracefs_instance_destroy(instance);
  tracefs_instance_free(instance);
}

Result<Instance> Instance::Create() {
  tracefs_set_loglevel(TEP_LOG_NONE);  // it would write its warnings to standard error
  const auto start = StartTimeOfProcess(::getpid());
  if (!start || start->empty()) return Failed("read /proc/self/stat: no start time in it");
  for (int i = 0; i < kMaxInstances; ++i) {
    std::string name = fmt::format("{}{}-{}", kPrefix, ::getpid(), *start);
    if (i > 0) name += fmt::format("-{}", i);
    errno = 0;
    tracefs_instance* made = tracefs_instance_create(name.c_str());
    if (made == nullptr) {
      const int error = errno;
      if (error == ENOENT || error == ENOSYS) {
        return MakeError(ErrorCode::kUnsupported, "this kernel's tracefs has no instances",
                         "they came with Linux 3.10");
      }
      return SystemError("make the tracefs instance " + name, error).WithHint(kWriteHint);
    }
    if (tracefs_instance_is_new(made)) return Instance(made, std::move(name));
    tracefs_instance_free(made);  // another recording of this process
  }
  return Failed(fmt::format("make a tracefs instance: this process has {} already", kMaxInstances));
}

Result<void> Instance::Write(const std::string& file, const std::string& text) const {
  errno = 0;
  if (tracefs_instance_file_write(instance_.get(), file.c_str(), text.c_str()) >= 0) return {};
  return SystemError(fmt::format("write '{}' to {}", text, PathOf(file)));
}

Result<std::string> Instance::Read(const std::string& file) const {
  return ReadSmallFile(PathOf(file), 1U << 20);
}

bool Instance::Has(const std::string& file) const {
  return tracefs_file_exists(instance_.get(), file.c_str());
}

std::string Instance::PathOf(const std::string& file) const {
  char* path = tracefs_instance_get_file(instance_.get(), file.c_str());
  std::string copy = path == nullptr ? file : path;
  tracefs_put_tracing_file(path);
  return copy;
}

Result<void> Instance::Remove() {
  tracefs_instance* instance = instance_.release();
  if (instance == nullptr) return {};
  errno = 0;
  const int failed = tracefs_instance_destroy(instance);
  const int error = errno;
  tracefs_instance_free(instance);
  if (failed == 0) return {};
  return SystemError("remove the tracefs instance " + name_, error);
}

}  // namespace offcpu::source::tracefs
