// SPDX-License-Identifier: MIT
#include "profile/profile_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/unique_fd.h"
#include "profile/encode.h"
#include "profile/foreign.h"

namespace offcpu::profile {

namespace {

constexpr size_t kMaxFileBytes = 1U << 30;

// Stops early at what can't be a profile, so that a pipe that never ends is no trap.
Result<std::string> ReadAll(int fd, const std::string& name) {
  std::string bytes;
  constexpr size_t kStep = 65'536;
  struct stat status {};
  if (::fstat(fd, &status) == 0 && status.st_size > 0) {
    bytes.reserve(std::min(static_cast<size_t>(status.st_size), kMaxFileBytes) + kStep);
  }
  for (;;) {
    const size_t old_size = bytes.size();
    bytes.resize(old_size + kStep);
    const ssize_t got = ::read(fd, bytes.data() + old_size, kStep);
    if (got < 0 && errno != EINTR) return SystemError("read " + name);
    bytes.resize(old_size + static_cast<size_t>(got < 0 ? 0 : got));
    if (got == 0) return bytes;
    const bool foreign = bytes.size() >= kHeaderBytes && !bytes.starts_with(kProfileMagic);
    if (foreign) return NotAProfile(bytes, name);
    if (bytes.size() > kMaxFileBytes) return Failed("read " + name + ": larger than 1 GiB");
  }
}

}  // namespace

Result<Profile> ReadProfileFile(const std::string& path) {
  const bool standard_input = path == "-";
  const std::string name = standard_input ? "standard input" : path;
  UniqueFd fd(standard_input ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                             : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return SystemError("open " + name);
  auto bytes = ReadAll(fd.get(), name);
  if (!bytes) return bytes.error();
  return ParseProfile(std::as_bytes(std::span(*bytes)), name);
}

}  // namespace offcpu::profile
