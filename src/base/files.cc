// SPDX-License-Identifier: MIT
#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

namespace offcpu {

Result<std::string> ReadSmallFile(const std::string& path, size_t limit) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return SystemError("open " + path);
  std::string text;
  constexpr size_t kStep = 16384;
  for (;;) {
    const size_t old_size = text.size();
    if (old_size > limit) return Failed("read " + path + ": larger than expected");
    text.resize(old_size + kStep);
    const ssize_t got = ::read(fd.get(), text.data() + old_size, kStep);
    if (got < 0 && errno == EINTR) {
      text.resize(old_size);
      continue;
    }
    if (got < 0) return SystemError("read " + path);
    text.resize(old_size + static_cast<size_t>(got));
    if (got == 0) return text;
  }
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return parts;
}

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

Result<OutputFile> OutputFile::Create(const std::string& path, bool force) {
  OutputFile file;
  file.path_ = path;
  file.force_ = force;
  if (path == "-") {
    file.fd_.Reset(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    if (!file.fd_) return SystemError("write to standard output");
    return file;
  }
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && !force) {
    return Failed("create " + path + ": the file exists", "use --force to overwrite it");
  }
  if (exists && !S_ISREG(status.st_mode)) {  // a device or a pipe is written in place
    file.fd_.Reset(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file.fd_) return SystemError("open " + path);
    return file;
  }
  // A file without a name leaves nothing behind, however this ends. Not all file systems have them.
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  file.fd_.Reset(::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666));
  file.nameless_ = static_cast<bool>(file.fd_);
  file.temporary_ = path + ".part-" + std::to_string(::getpid());
  if (!file.fd_) {
    file.fd_.Reset(::open(file.temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  }
  if (!file.fd_) {
    const int reason = errno;
    file.temporary_.clear();
    return SystemError("create " + path, reason);
  }
  return file;
}

OutputFile::~OutputFile() {
  if (!temporary_.empty() && !nameless_ && fd_) ::unlink(temporary_.c_str());
}

// Gives the file a name; fails with EEXIST where there is one already.
bool OutputFile::LinkTo(const std::string& name) const {
  if (!nameless_) return ::link(temporary_.c_str(), name.c_str()) == 0;
  const std::string self = "/proc/self/fd/" + std::to_string(fd_.get());
  return ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

Result<void> OutputFile::Write(std::string_view bytes) {
  while (!bytes.empty() && !closed_pipe_) {
    const ssize_t written = ::write(fd_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EPIPE && path_ == "-") {
      closed_pipe_ = true;
      break;
    }
    if (written < 0) return SystemError("write " + path_);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

Result<void> OutputFile::Commit() {
  if (temporary_.empty()) return {};
  // link() refuses to replace a file that came into being meanwhile; rename() replaces it.
  if (!force_ && LinkTo(path_)) {
    if (!nameless_) ::unlink(temporary_.c_str());
    temporary_.clear();
    return {};
  }
  if (!force_ && errno == EEXIST) return SystemError("create " + path_);
  if (nameless_) {
    if (!LinkTo(temporary_)) return SystemError("create " + path_);
    nameless_ = false;  // from here on the destructor removes it
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return SystemError("create " + path_);
  temporary_.clear();
  return {};
}

}  // namespace offcpu
