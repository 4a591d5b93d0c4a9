// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/unique_fd.h"
#include "model/stack.h"
#include "symbolize/elf_module.h"
#include "symbolize/open_file.h"
#include "symbolize/symbolizer.h"

namespace offcpu::symbolize {

// One file that processes have mapped, or had.
class UserFile {
 public:
  UserFile(model::Module module, std::string name)
      : module_(std::move(module)), name_(std::move(name)) {}

  const std::string& name() const { return name_; }  // base name
  bool loaded() const { return loaded_; }
  bool is_elf() const { return elf_.has_value(); }  // once loaded

  // The frames at `offset`, outermost first: functions, or one named by the offset itself where
  // none is known. All but the leaf of a chain are return addresses: the call is before.
  const std::vector<model::SymbolFrame>& Frames(uint64_t offset, bool leaf);

 private:
  friend class UserFiles;

  std::vector<model::SymbolFrame> MakeFrames(uint64_t offset, bool leaf);

  model::Module module_;  // one of those that had it mapped
  std::string name_;
  std::optional<OpenedFile> held_;  // what AddModule opened; the descriptor may be closed since
  bool loaded_ = false;
  std::optional<ElfModule> elf_;
  std::unordered_map<uint64_t, std::vector<model::SymbolFrame>> leaf_frames_;
  std::unordered_map<uint64_t, std::vector<model::SymbolFrame>> caller_frames_;
};

// All mapped files. A file is opened when it is first seen, so that it can still be read when it
// has been deleted or its processes are gone; it is parsed when a stack first needs it, and once
// however many processes map it. One file is one device, inode, size and time of last change:
// build-ids would tell no more, and would have to be read for each mapping. The last 200 files stay
// open, which also keeps their inodes from being used again for other files.
class UserFiles {
 public:
  explicit UserFiles(const Options& options) : options_(options) {}

  // Never null. Lives as long as this object.
  UserFile* Add(const model::Module& module, const std::string& name);
  // The kernel's vdso.
  UserFile* Vdso();

  // Parses the file unless it was parsed before.
  void Load(UserFile* file);

  std::vector<std::string> Warnings() const;

 private:
  struct Key {
    uint32_t device_major = 0;
    uint32_t device_minor = 0;
    uint64_t inode = 0;
    std::string path;  // of files that could not be opened; empty otherwise
    int64_t size = 0;
    int64_t seconds = 0;
    int64_t nanoseconds = 0;

    auto Fields() const {
      return std::tie(device_major, device_minor, inode, path, size, seconds, nanoseconds);
    }
    bool operator<(const Key& other) const { return Fields() < other.Fields(); }
  };

  UserFile* AddRecorded(const model::Module& module, const std::string& name);
  UserFile* FindHeld(const model::Module& module);
  Result<UniqueFd> TakeFile(UserFile* file) const;
  void LimitHeldFiles();

  Options options_;
  std::map<Key, std::unique_ptr<UserFile>> files_;
  std::unique_ptr<UserFile> vdso_;
  std::deque<UserFile*> holding_;  // oldest first
  uint64_t debug_info_held_ = 0;
  size_t unreadable_ = 0;
  std::string first_unreadable_;
  std::vector<std::string> warnings_;
};

// "0x12a40".
std::string HexName(uint64_t value);

}  // namespace offcpu::symbolize
