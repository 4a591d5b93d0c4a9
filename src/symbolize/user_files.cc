// SPDX-License-Identifier: MIT
#include "symbolize/user_files.h"

#include <fcntl.h>

#include <array>
#include <charconv>

#include "symbolize/recorded_file.h"
#include "symbolize/vdso.h"

namespace offcpu::symbolize {
namespace {

constexpr size_t kMaxHeldFiles = 200;
// All debug information that is held to find inlined functions.
constexpr uint64_t kMaxDebugInfo = 128U << 20;
constexpr size_t kMaxWarnings = 16;

bool SameFile(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

std::string MiB(uint64_t bytes) { return std::to_string((bytes >> 20) + 1) + " MiB"; }

}  // namespace

std::string HexName(uint64_t value) {
  std::array<char, 18> text{'0', 'x'};
  char* end = std::to_chars(text.data() + 2, text.data() + text.size(), value, 16).ptr;
  return {text.data(), end};
}

const std::vector<model::SymbolFrame>& UserFile::Frames(uint64_t offset, bool leaf) {
  auto& cache = leaf ? leaf_frames_ : caller_frames_;
  const auto found = cache.find(offset);
  if (found != cache.end()) return found->second;
  return cache.emplace(offset, MakeFrames(offset, leaf)).first->second;
}

std::vector<model::SymbolFrame> UserFile::MakeFrames(uint64_t offset, bool leaf) {
  std::vector<ElfModule::Name> names;
  if (elf_) {
    const bool behind_call = !leaf || elf_->FollowsSystemCall(offset);
    if (behind_call && offset > 0) names = elf_->Find(offset - 1);
    // The return address of a signal handler is the start of a function that nobody calls.
    if (names.empty()) names = elf_->Find(offset);
  }
  if (names.empty()) names.push_back({HexName(offset), false});
  std::vector<model::SymbolFrame> frames;
  frames.reserve(names.size());
  for (ElfModule::Name& name : names) {
    frames.push_back({model::FrameKind::kUser, name.inlined, std::move(name.text), name_});
  }
  return frames;
}

// A file of a recording: it is looked for when a stack needs it.
UserFile* UserFiles::AddRecorded(const model::Module& module, const std::string& name) {
  const Key key{module.device_major,
                module.device_minor,
                module.inode,
                module.path + '\0' + module.build_id,
                0,
                0,
                0};
  std::unique_ptr<UserFile>& place = files_[key];
  if (place == nullptr) place = std::make_unique<UserFile>(module, name);
  return place.get();
}

UserFile* UserFiles::Add(const model::Module& module, const std::string& name) {
  if (!options_.live) return AddRecorded(module, name);
  auto file = OpenModuleFile(options_.proc, module);
  Key key{module.device_major, module.device_minor, module.inode, {}, 0, 0, 0};
  if (file) {
    key.size = file->status.st_size;
    key.seconds = file->status.st_mtim.tv_sec;
    key.nanoseconds = file->status.st_mtim.tv_nsec;
  } else {
    if (UserFile* same = FindHeld(module)) return same;
    key.path = module.path;
  }
  std::unique_ptr<UserFile>& place = files_[key];
  if (place == nullptr) {
    place = std::make_unique<UserFile>(module, name);
    if (file) {
      place->held_ = *std::move(file);
      holding_.push_back(place.get());
      LimitHeldFiles();
    }
  }
  return place.get();
}

// The process may be gone, but another had the same file. Only while that is open the inode is sure
// to be the same file's: build systems use numbers again within milliseconds.
UserFile* UserFiles::FindHeld(const model::Module& module) {
  if (module.inode == 0) return nullptr;
  const Key first{module.device_major, module.device_minor, module.inode, {}, 0, 0, 0};
  const auto found = files_.lower_bound(first);
  if (found == files_.end()) return nullptr;
  const auto& [key, file] = *found;
  const bool same = key.device_major == module.device_major &&
                    key.device_minor == module.device_minor && key.inode == module.inode &&
                    file->held_ && file->held_->fd;
  return same ? file.get() : nullptr;
}

void UserFiles::LimitHeldFiles() {
  if (holding_.size() <= kMaxHeldFiles) return;
  holding_.front()->held_->fd.Reset();  // Load() tries to open it again
  holding_.pop_front();
}

UserFile* UserFiles::Vdso() {
  if (vdso_ == nullptr) vdso_ = std::make_unique<UserFile>(model::Module{}, "[vdso]");
  return vdso_.get();
}

Result<UniqueFd> UserFiles::TakeFile(UserFile* file) const {
  if (file == vdso_.get()) return CopyVdso();
  if (!options_.live) return OpenRecordedFile(options_, file->module_);
  if (file->held_ && file->held_->fd) {
    UniqueFd copy(::fcntl(file->held_->fd.get(), F_DUPFD_CLOEXEC, 0));
    if (!copy) return SystemError("duplicate the descriptor of " + file->module_.path);
    return copy;
  }
  auto again = OpenModuleFile(options_.proc, file->module_);
  if (!again) return again.error();
  if (file->held_ && !SameFile(file->held_->status, again->status)) {
    return Failed("open " + file->module_.path + ": it changed since it was mapped");
  }
  return std::move(again->fd);
}

void UserFiles::Load(UserFile* file) {
  if (file->loaded_) return;
  file->loaded_ = true;
  auto fd = TakeFile(file);
  if (!fd) {
    // What lies in memory only belongs to a compiler; perf maps have its names.
    if (file->name_.starts_with('[')) return;
    if (unreadable_++ == 0) first_unreadable_ = fd.error().message;
    return;
  }
  LoadOptions load;
  load.inlines = options_.inlines;
  load.debug_info_limit = kMaxDebugInfo - debug_info_held_;
  load.places.debug_directory = options_.debug_directory;
  load.places.process_root = options_.live
                                 ? options_.proc + "/" + std::to_string(file->module_.pid) + "/root"
                                 : options_.below;
  const std::string path = StripDeleted(file->module_.path);
  load.places.module_directory =
      path.substr(0, path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
  auto elf = ElfModule::Load(*std::move(fd), load);
  if (!elf) return;  // not ELF: its frames may still be in a perf map
  debug_info_held_ += elf->debug_info_size();
  if (elf->debug_info_left_out() > 0 && warnings_.size() < kMaxWarnings) {
    warnings_.push_back(
        "functions inlined in " + file->name() + " are left out: its debug information takes " +
        MiB(elf->debug_info_left_out()) + ", and all together may take " + MiB(kMaxDebugInfo - 1));
  }
  file->elf_ = *std::move(elf);
}

std::vector<std::string> UserFiles::Warnings() const {
  std::vector<std::string> warnings = warnings_;
  if (unreadable_ > 0) {
    warnings.push_back(std::to_string(unreadable_) +
                       (unreadable_ == 1 ? " mapped file" : " mapped files") +
                       " could not be read for symbols (" + first_unreadable_ +
                       "); frames in there show their position in the file");
  }
  return warnings;
}

}  // namespace offcpu::symbolize
