// SPDX-License-Identifier: MIT
#include "symbolize/recorded_file.h"

#include <fcntl.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "symbolize/debug_files.h"
#include "symbolize/elf_file.h"
#include "symbolize/open_file.h"

namespace offcpu::symbolize {
namespace {

// The file's build-id; empty where it has none or is no ELF file.
std::string BuildIdOf(const UniqueFd& fd) {
  UniqueFd copy(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy) return {};
  auto elf = ElfFile::Open(std::move(copy));
  return elf ? elf->BuildId() : std::string();
}

Result<UniqueFd> OpenWithBuildId(const std::string& path, const std::string& build_id) {
  auto file = OpenRegularFile(path);
  if (!file) return file.error();
  if (BuildIdOf(file->fd) != build_id) {
    return Failed("open " + path + ": it is not the recorded file (another build-id)");
  }
  return std::move(file->fd);
}

std::vector<std::string> PlacesByBuildId(const std::string& build_id) {
  const std::string hex = HexOf(build_id);
  const std::string place = "/.build-id/" + hex.substr(0, 2) + "/" + hex.substr(2);
  std::vector<std::string> places{"/usr/lib" + place};
  if (const char* home = std::getenv("HOME")) {
    places.push_back(std::string(home) + "/.debug" + place + "/elf");
  }
  return places;
}

}  // namespace

Result<UniqueFd> OpenRecordedFile(const Options& options, const model::Module& module) {
  const std::string path = StripDeleted(module.path);
  const std::string below = options.below.empty() ? "" : options.below + path;
  if (module.build_id.empty()) {
    if (!below.empty()) {
      auto file = OpenRegularFile(below);
      if (!file) return file.error();
      return std::move(file->fd);
    }
    if (!options.same_host) {
      return Failed("open " + path + ": the recording has no build-id of it");
    }
    auto file = OpenModuleFile(/*proc=*/"", module);
    if (!file) return file.error();
    return std::move(file->fd);
  }
  std::vector<std::string> places;
  if (!below.empty()) places.push_back(below);
  places.push_back(path);
  for (std::string& place : PlacesByBuildId(module.build_id)) places.push_back(std::move(place));
  std::optional<Error> reason;
  for (const std::string& place : places) {
    auto file = OpenWithBuildId(place, module.build_id);
    if (file) return file;
    if (!reason) reason = file.error();
  }
  return *reason;
}

}  // namespace offcpu::symbolize
