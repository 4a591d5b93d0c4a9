// SPDX-License-Identifier: MIT
#include "symbolize/debug_files.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

#include "symbolize/open_file.h"

namespace offcpu::symbolize {
namespace {

std::array<uint32_t, 256> MakeCrcTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < table.size(); ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ ((value & 1) != 0 ? 0xedb88320U : 0);
    table[i] = value;
  }
  return table;
}

std::string BuildIdPath(const std::string& debug_directory, const std::string& build_id) {
  const std::string hex = HexOf(build_id);
  return debug_directory + "/.build-id/" + hex.substr(0, 2) + "/" + hex.substr(2) + ".debug";
}

std::optional<DebugFile> OpenDebugFile(const std::string& path) {
  auto file = OpenRegularFile(path);
  if (!file) return std::nullopt;
  auto elf = ElfFile::Open(std::move(file->fd));
  if (!elf) return std::nullopt;
  return DebugFile{*std::move(elf), path};
}

std::optional<DebugFile> OpenByBuildId(const std::string& path, const std::string& build_id) {
  auto file = OpenDebugFile(path);
  return file && file->elf.BuildId() == build_id ? std::move(file) : std::nullopt;
}

// The link of a file that carries a build-id names files that do, so the checksum, for which the
// whole file must be read, is needed only where there is none.
std::optional<DebugFile> OpenByLink(const std::string& path, const DebugLink& link,
                                    const std::string& build_id) {
  if (!build_id.empty()) return OpenByBuildId(path, build_id);
  auto file = OpenDebugFile(path);
  return file && DebugLinkChecksum(file->elf.fd()) == link.crc ? std::move(file) : std::nullopt;
}

}  // namespace

std::optional<uint32_t> DebugLinkChecksum(int fd) {
  static const std::array<uint32_t, 256> table = MakeCrcTable();
  std::vector<unsigned char> part(size_t{1} << 16);
  uint32_t crc = ~0U;
  off_t offset = 0;
  while (true) {
    const ssize_t count = ::pread(fd, part.data(), part.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) return ~crc;
    for (ssize_t i = 0; i < count; ++i) {
      crc = table[(crc ^ part[static_cast<size_t>(i)]) & 0xff] ^ crc >> 8;
    }
    offset += count;
  }
}

std::string HexOf(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::optional<DebugFile> FindDebugFile(const ElfFile& stripped, const DebugPlaces& places) {
  const std::array<std::string, 2> roots{"", places.process_root};
  const std::string build_id = stripped.BuildId();
  if (build_id.size() > 1) {
    for (const std::string& root : roots) {
      auto file = OpenByBuildId(BuildIdPath(root + places.debug_directory, build_id), build_id);
      if (file) return file;
    }
  }
  const auto link = stripped.ReadDebugLink();
  if (!link) return std::nullopt;
  const std::string& directory = places.module_directory;
  for (const std::string& root : roots) {
    for (const std::string& place :
         {directory, directory + "/.debug", places.debug_directory + directory}) {
      auto file = OpenByLink(root + place + "/" + link->name, *link, build_id);
      if (file) return file;
    }
  }
  return std::nullopt;
}

std::optional<DebugFile> FindSharedDebugFile(const std::string& debug_file, const std::string& name,
                                             const std::string& build_id,
                                             const std::string& debug_directory) {
  if (build_id.size() < 2) return std::nullopt;
  if (auto file = OpenByBuildId(BuildIdPath(debug_directory, build_id), build_id)) return file;
  if (name.starts_with('/')) return OpenByBuildId(name, build_id);
  return OpenByBuildId(debug_file.substr(0, debug_file.rfind('/') + 1) + name, build_id);
}

}  // namespace offcpu::symbolize
