// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "symbolize/elf_file.h"

namespace offcpu::symbolize {

// Where to look for the debug file of a stripped one.
struct DebugPlaces {
  std::string debug_directory;  // usually /usr/lib/debug
  std::string process_root;     // the same path inside of the process's mount namespace begins here
  std::string module_directory;  // of the stripped file
};

struct DebugFile {
  ElfFile elf;
  std::string path;
};

// The file with the symbols and debug information that were stripped from `stripped`: by build-id
// (DIRECTORY/.build-id/xx/yyy.debug), else by .gnu_debuglink beside the file, in .debug beside it
// and under the debug directory; on this side first, then inside of the process's root. It must
// have the same build-id, or without one the checksum that the link names.
std::optional<DebugFile> FindDebugFile(const ElfFile& stripped, const DebugPlaces& places);

// The file that `debug_file`'s debug information shares with others (dwz): by `build_id`, which is
// checked, else by `name` from the directory of `debug_file`.
std::optional<DebugFile> FindSharedDebugFile(const std::string& debug_file, const std::string& name,
                                             const std::string& build_id,
                                             const std::string& debug_directory);

// The bytes of a build-id as in file names: two hexadecimal digits each.
std::string HexOf(std::string_view bytes);

// The checksum that .gnu_debuglink uses; nothing when the file can't be read.
std::optional<uint32_t> DebugLinkChecksum(int fd);

}  // namespace offcpu::symbolize
