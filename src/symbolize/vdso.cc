// SPDX-License-Identifier: MIT
#include "symbolize/vdso.h"

#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "base/files.h"
#include "base/parse.h"

namespace offcpu::symbolize {
namespace {

// The bytes mapped from `start` on, as /proc/self/maps tells.
Result<size_t> MappedSize(uint64_t start) {
  const auto maps = ReadSmallFile("/proc/self/maps");
  if (!maps) return maps.error();
  for (const std::string_view line : Split(*maps, '\n')) {
    const std::string_view range = line.substr(0, line.find(' '));
    const size_t dash = range.find('-');
    uint64_t begin = 0;
    uint64_t end = 0;
    if (dash == std::string_view::npos || !ParseNumber(range.substr(0, dash), &begin, 16) ||
        !ParseNumber(range.substr(dash + 1), &end, 16)) {
      continue;
    }
    if (begin == start && end > begin) return end - begin;
  }
  return Failed("find the vdso in /proc/self/maps");
}

}  // namespace

Result<UniqueFd> CopyVdso() {
  const uint64_t start = ::getauxval(AT_SYSINFO_EHDR);
  if (start == 0) return Failed("find the vdso: this kernel has none");
  const auto size = MappedSize(start);
  if (!size) return size.error();
  UniqueFd file(::memfd_create("vdso", MFD_CLOEXEC));
  if (!file) return SystemError("create a memory file");
  const ssize_t written = ::write(file.get(), reinterpret_cast<const void*>(start), *size);
  if (written < 0) return SystemError("copy the vdso");
  if (static_cast<size_t>(written) != *size) return Failed("copy the vdso: it was written in part");
  return file;
}

}  // namespace offcpu::symbolize
