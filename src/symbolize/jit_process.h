// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "model/ids.h"
#include "symbolize/open_file.h"
#include "symbolize/perf_map.h"

namespace offcpu::symbolize {

// A process with code that no file holds, and its perf map. What is needed to find the map after
// the process's end is taken when the object is made: its root directory (kept open without reading
// from it), its id in its own pid namespace and its user.
//
// The map is /tmp/perf-ID.map inside of the process's root with its innermost id, else under its id
// here; else the same on this side. It must be a regular file, no symbolic link, of root, of the
// process's user or of the recorder's: anybody may write to /tmp.
class JitProcess {
 public:
  // `hold_root` false saves the descriptor; the map is then found only while the process lives.
  JitProcess(const std::string& proc, model::Pid pid, bool hold_root);

  bool holds_root() const { return static_cast<bool>(root_); }

  // Reads the map when it appeared, grew or changed since the last call. An error tells why a map
  // that exists can't be used, or not all of it; none at all is no error.
  Result<void> Update();

  // Empty: no code is known at `address`. Lives until the next Update().
  std::string_view Find(uint64_t address) const { return map_.Find(address); }

 private:
  struct Place {
    int directory;
    std::string path;
  };
  Result<void> Read(const Place& place);

  std::string root_path_;
  model::Pid pid_;
  std::string inner_pid_;
  std::optional<uid_t> user_;
  UniqueFd root_;

  PerfMap map_;
  struct stat seen_ {};  // of the map as it was read last
};

}  // namespace offcpu::symbolize
