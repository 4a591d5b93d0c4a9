// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace offcpu::source {

// Where tracefs may be: its own mount point (Linux 4.1), and below debugfs before.
std::vector<std::string> TracefsCandidates();

// Event formats of the running kernel. The error tells apart: not mounted, mounted but not
// readable, and (from ReadFormat) a kernel without the event.
class TracefsFiles {
 public:
  static Result<TracefsFiles> Find(
      const std::vector<std::string>& candidates = TracefsCandidates());

  // The text of events/<system>/<event>/format.
  Result<std::string> ReadFormat(const std::string& system, const std::string& event) const;

  const std::string& root() const { return root_; }

 private:
  explicit TracefsFiles(std::string root) : root_(std::move(root)) {}
  std::string root_;
};

}  // namespace offcpu::source
