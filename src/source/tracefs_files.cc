// SPDX-License-Identifier: MIT
#include "source/tracefs_files.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/files.h"

namespace offcpu::source {
namespace {

constexpr char kMountHint[] = "mount it as root: mount -t tracefs nodev /sys/kernel/tracing";
constexpr char kReadHint[] =
    "run as root, or let your group read it: mount -o remount,gid=GROUP,mode=750 "
    "/sys/kernel/tracing; see offcpu-permissions(7)";

}  // namespace

std::vector<std::string> TracefsCandidates() {
  return {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
}

Result<TracefsFiles> TracefsFiles::Find(const std::vector<std::string>& candidates) {
  std::string unreadable;
  for (const std::string& root : candidates) {
    const std::string events = root + "/events/sched";
    if (::faccessat(AT_FDCWD, events.c_str(), R_OK | X_OK, AT_EACCESS) == 0)
      return TracefsFiles(root);
    // A file system without rights answers EACCES at its root; an empty mount point has no events.
    if (errno == EACCES || errno == EPERM) unreadable = root;
  }
  if (!unreadable.empty()) {
    return MakeError(ErrorCode::kPermission,
                     "read tracefs at " + unreadable + ": Permission denied", kReadHint);
  }
  return MakeError(ErrorCode::kUnsupported,
                   "tracefs is not mounted at " + (candidates.empty() ? "" : candidates.front()),
                   kMountHint);
}

Result<std::string> TracefsFiles::ReadFormat(const std::string& system,
                                             const std::string& event) const {
  const std::string path = root_ + "/events/" + system + "/" + event + "/format";
  auto text = ReadSmallFile(path, 1U << 20);
  if (text) return text;
  if (::faccessat(AT_FDCWD, path.c_str(), F_OK, AT_EACCESS) != 0 && errno == ENOENT) {
    return MakeError(ErrorCode::kUnsupported,
                     "this kernel has no event " + system + ":" + event + " (" + path + ")",
                     "it needs CONFIG_EVENT_TRACING and the tracepoint compiled in");
  }
  return text.error().WithHint(kReadHint);
}

}  // namespace offcpu::source
