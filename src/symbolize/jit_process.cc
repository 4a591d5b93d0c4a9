// SPDX-License-Identifier: MIT
#include "symbolize/jit_process.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

#include "base/files.h"
#include "base/parse.h"

namespace offcpu::symbolize {
namespace {

// The words behind "KEY:" in /proc/PID/status.
std::vector<std::string_view> StatusWords(std::string_view status, std::string_view key) {
  for (const std::string_view line : Split(status, '\n')) {
    if (line.starts_with(key)) return Split(Trim(line.substr(key.size())), '\t');
  }
  return {};
}

bool Same(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool Unchanged(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         Same(a.st_mtim, b.st_mtim) && Same(a.st_ctim, b.st_ctim);
}

}  // namespace

JitProcess::JitProcess(const std::string& proc, model::Pid pid, bool hold_root)
    : root_path_(proc + "/" + std::to_string(pid) + "/root"),
      pid_(pid),
      inner_pid_(std::to_string(pid)) {
  // Without a status (the process is gone) the ids and the user from here must do.
  if (const auto status = ReadSmallFile(proc + "/" + std::to_string(pid) + "/status")) {
    const auto ids = StatusWords(*status, "NSpid:");
    model::Pid inner = 0;
    if (!ids.empty() && ParseNumber(ids.back(), &inner)) inner_pid_ = std::to_string(inner);
    const auto users = StatusWords(*status, "Uid:");  // real, effective, saved, file system
    uid_t user = 0;
    if (users.size() > 1 && ParseNumber(users[1], &user)) user_ = user;
  }
  if (hold_root) {
    root_.Reset(::open(root_path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
}

Result<void> JitProcess::Update() {
  const std::string inner = "tmp/perf-" + inner_pid_ + ".map";
  const std::string outer = "tmp/perf-" + std::to_string(pid_) + ".map";
  const UniqueFd unheld(root_ ? -1 : ::open(root_path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const int root = root_ ? root_.get() : unheld.get();
  const std::array<Place, 4> places{
      {{root, inner}, {root, outer}, {AT_FDCWD, "/" + outer}, {AT_FDCWD, "/" + inner}}};
  for (const Place& place : places) {
    struct stat status {};
    if (::fstatat(place.directory, place.path.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
      if (Unchanged(status, seen_)) return {};
      return Read(place);
    }
    const bool absent = errno == ENOENT || errno == ENOTDIR || errno == ESRCH || errno == EBADF;
    if (!absent) return SystemError("look for " + place.path);
  }
  return {};
}

Result<void> JitProcess::Read(const Place& place) {
  auto file = OpenRegularFile(place.directory, place.path, Links::kRefuse);
  if (!file) return file.error();
  const uid_t owner = file->status.st_uid;
  if (owner != 0 && owner != ::geteuid() && owner != user_) {
    return Failed("use " + place.path + ": it belongs to user " + std::to_string(owner) +
                  ", who is not the process's");
  }
  const bool grew = file->status.st_ino == seen_.st_ino && file->status.st_dev == seen_.st_dev &&
                    file->status.st_size > seen_.st_size;
  if (!grew) map_ = PerfMap();
  seen_ = file->status;
  if (auto updated = map_.Update(file->fd.get()); !updated) return updated.error();
  if (map_.full()) return Failed("read all of " + place.path + ": it is too long");
  return {};
}

}  // namespace offcpu::symbolize
