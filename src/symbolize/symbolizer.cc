// SPDX-License-Identifier: MIT
#include "symbolize/symbolizer.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "symbolize/demangle.h"
#include "symbolize/jit_process.h"
#include "symbolize/kernel_symbols.h"
#include "symbolize/user_files.h"

namespace offcpu::symbolize {
namespace {

using model::FrameKind;
using model::SymbolFrame;

constexpr size_t kMaxHeldRoots = 128;
constexpr size_t kMaxWarnings = 32;

struct ModuleEntry {
  enum class Kind { kFile, kAnonymous, kVdso, kVsyscall };

  Kind kind = Kind::kAnonymous;
  std::string name;          // as frames show it; of kFile the file has it
  UserFile* file = nullptr;  // of kFile and kVdso
};

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool IsMemoryFile(std::string_view path) { return path.starts_with("/memfd:"); }

// Mappings with a path that no file stands behind.
bool IsAnonymous(std::string_view path) {
  return !path.starts_with('/') || path.starts_with("//") || path.starts_with("/dev/zero") ||
         path.starts_with("/SYSV") || path.starts_with("/anon_hugepage");
}

std::string ModuleName(const model::Module& module) {
  const std::string path = StripDeleted(module.path);
  if (IsMemoryFile(path)) return "[" + path.substr(1) + "]";
  if (!IsAnonymous(path)) return BaseName(path);
  return path.starts_with('[') ? path : "[anon]";
}

// Programs of 32 bits have a vdso of their own, which can't be copied from here.
bool IsForeignVdso(const model::Module& module) {
  return sizeof(void*) == 8 && module.map_start != 0 && module.map_start <= UINT32_MAX;
}

// The page at a fixed address, three calls in 1 KiB each.
std::string VsyscallName(uint64_t address) {
  constexpr std::string_view kNames[] = {"gettimeofday", "time", "getcpu"};
  const uint64_t slot = (address & 0xfff) >> 10;
  return slot < std::size(kNames) ? std::string(kNames[slot]) : HexName(address);
}

}  // namespace

struct Symbolizer::Impl {
  explicit Impl(Options o) : options(std::move(o)), files(options) {}

  const KernelSymbols& Kernel();
  SymbolFrame GivenFrame(const model::RawFrame& frame) const;
  SymbolFrame KernelFrame(const model::RawFrame& frame, bool leaf);
  void AppendKernelFrames(const model::RawStack& stack, std::vector<SymbolFrame>* frames);

  ModuleEntry MakeEntry(const model::Module& module);
  const ModuleEntry* FindModule(model::ModuleId id) const;
  UserFile* LoadedFile(const ModuleEntry* entry);
  bool NeedsPerfMap(const ModuleEntry* entry);
  JitProcess* Process(model::Pid pid);
  SymbolFrame JitFrame(const model::RawFrame& frame, bool leaf, const ModuleEntry* entry,
                       JitProcess* process);
  void AppendUserFrames(const model::RawStack& stack, std::vector<SymbolFrame>* frames);
  void UpdatePerfMap(const model::RawStack& stack);
  void Warn(std::string sentence);

  Options options;
  UserFiles files;
  std::unordered_map<model::ModuleId, ModuleEntry> modules;
  std::unordered_map<model::Pid, std::unique_ptr<JitProcess>> processes;
  size_t held_roots = 0;
  std::unique_ptr<KernelSymbols> kernel;
  std::vector<std::string> warnings;
};

void Symbolizer::Impl::Warn(std::string sentence) {
  if (warnings.size() >= kMaxWarnings) return;
  if (std::find(warnings.begin(), warnings.end(), sentence) == warnings.end()) {
    warnings.push_back(std::move(sentence));
  }
}

const KernelSymbols& Symbolizer::Impl::Kernel() {
  if (kernel != nullptr) return *kernel;
  if (!options.live && options.kallsyms.empty() && options.kallsyms_text != nullptr) {
    kernel = std::make_unique<KernelSymbols>(KernelSymbols::Parse(*options.kallsyms_text));
    return *kernel;
  }
  if (!options.live && options.kallsyms.empty()) {
    kernel = std::make_unique<KernelSymbols>();
    return *kernel;
  }
  auto read = KernelSymbols::Read(options.live ? options.proc + "/kallsyms" : options.kallsyms);
  if (!read) {
    Warn("kernel functions have no names: " + read.error().message);
    kernel = std::make_unique<KernelSymbols>();
    return *kernel;
  }
  if (read->empty()) {
    Warn(
        "kernel functions have no names, since the kernel hides its addresses from this user: set "
        "the sysctl kernel.kptr_restrict to 0, or run with the capability CAP_SYSLOG");
  }
  kernel = std::make_unique<KernelSymbols>(*std::move(read));
  return *kernel;
}

SymbolFrame Symbolizer::Impl::GivenFrame(const model::RawFrame& frame) const {
  return options.names->Find(frame.address)
      .value_or(SymbolFrame{FrameKind::kUser, false, "[unknown]", ""});
}

SymbolFrame Symbolizer::Impl::KernelFrame(const model::RawFrame& frame, bool leaf) {
  if (options.names != nullptr) return GivenFrame(frame);
  const auto function = Kernel().Find(leaf ? frame.address : frame.address - 1);
  if (function.name.empty()) {
    return {FrameKind::kKernel, false, HexName(frame.address), "[kernel]"};
  }
  return {FrameKind::kKernel, false, Demangle(function.name), std::string(function.module)};
}

void Symbolizer::Impl::AppendKernelFrames(const model::RawStack& stack,
                                          std::vector<SymbolFrame>* frames) {
  std::vector<SymbolFrame> leaf_first;
  leaf_first.reserve(stack.frames.size());
  for (size_t i = 0; i < stack.frames.size(); ++i) {
    leaf_first.push_back(KernelFrame(stack.frames[i], i == 0));
  }
  size_t count = CountTracingFrames(leaf_first);
  // So that a wait has the same stack whether it was taken at the switch or from a sleeper.
  const auto in_scheduler = [&](size_t at) {
    if (options.names != nullptr) return IsSchedulerName(leaf_first[at].name);
    return Kernel().IsSchedulerText(stack.frames[at].address - (at == 0 ? 0 : 1));
  };
  while (count + 1 < leaf_first.size() && in_scheduler(count)) ++count;
  const auto cut = static_cast<std::ptrdiff_t>(count);
  frames->insert(frames->end(), std::make_move_iterator(leaf_first.rbegin()),
                 std::make_move_iterator(leaf_first.rend() - cut));
}

ModuleEntry Symbolizer::Impl::MakeEntry(const model::Module& module) {
  ModuleEntry entry;
  entry.name = ModuleName(module);
  const bool known_vdso = options.live || options.same_kernel;
  if (module.path == "[vdso]" && known_vdso && !IsForeignVdso(module)) {
    entry.kind = ModuleEntry::Kind::kVdso;
    entry.file = files.Vdso();
  } else if (module.path == "[vsyscall]") {
    entry.kind = ModuleEntry::Kind::kVsyscall;
  } else if (!IsAnonymous(module.path)) {
    entry.kind = ModuleEntry::Kind::kFile;
    entry.file = files.Add(module, entry.name);
    entry.name.clear();
  }
  return entry;
}

const ModuleEntry* Symbolizer::Impl::FindModule(model::ModuleId id) const {
  const auto found = modules.find(id);
  return id == 0 || found == modules.end() ? nullptr : &found->second;
}

// Null when the module is no file.
UserFile* Symbolizer::Impl::LoadedFile(const ModuleEntry* entry) {
  if (entry == nullptr || entry->file == nullptr) return nullptr;
  files.Load(entry->file);
  return entry->file;
}

// Code that no ELF file holds: written to memory, or to a file of another kind (.NET).
bool Symbolizer::Impl::NeedsPerfMap(const ModuleEntry* entry) {
  if (entry == nullptr || entry->kind == ModuleEntry::Kind::kAnonymous) return true;
  return entry->kind == ModuleEntry::Kind::kFile && !LoadedFile(entry)->is_elf();
}

// Null: no perf map is looked for.
JitProcess* Symbolizer::Impl::Process(model::Pid pid) {
  if (!options.live) return nullptr;
  std::unique_ptr<JitProcess>& place = processes[pid];
  if (place == nullptr) {
    place = std::make_unique<JitProcess>(options.proc, pid, held_roots < kMaxHeldRoots);
    if (place->holds_root()) ++held_roots;
  }
  return place.get();
}

SymbolFrame Symbolizer::Impl::JitFrame(const model::RawFrame& frame, bool leaf,
                                       const ModuleEntry* entry, JitProcess* process) {
  const std::string_view name =
      process == nullptr ? "" : process->Find(leaf ? frame.address : frame.address - 1);
  if (!name.empty()) return {FrameKind::kJit, false, std::string(name), "[jit]"};
  // Addresses that belong to nothing come from broken chains. They say nothing, and any number of
  // them would make any number of different stacks.
  if (entry == nullptr) return {FrameKind::kUser, false, "[unknown]", ""};
  if (entry->file != nullptr) return entry->file->Frames(frame.offset, leaf).front();
  return {FrameKind::kUser, false, HexName(frame.address), entry->name};
}

void Symbolizer::Impl::AppendUserFrames(const model::RawStack& stack,
                                        std::vector<SymbolFrame>* frames) {
  for (size_t i = stack.frames.size(); i-- > 0;) {
    const model::RawFrame& frame = stack.frames[i];
    if (options.names != nullptr) {
      frames->push_back(GivenFrame(frame));
      continue;
    }
    const ModuleEntry* entry = FindModule(frame.module);
    const bool leaf = i == 0;
    if (NeedsPerfMap(entry)) {
      frames->push_back(JitFrame(frame, leaf, entry, Process(stack.pid)));
    } else if (UserFile* file = LoadedFile(entry)) {
      const auto& named = file->Frames(frame.offset, leaf);
      frames->insert(frames->end(), named.begin(), named.end());
    } else {  // the vsyscall page
      frames->push_back({FrameKind::kUser, false, VsyscallName(frame.address), entry->name});
    }
  }
}

void Symbolizer::Impl::UpdatePerfMap(const model::RawStack& stack) {
  if (!options.live) return;
  const bool needed = std::any_of(
      stack.frames.begin(), stack.frames.end(),
      [&](const model::RawFrame& frame) { return NeedsPerfMap(FindModule(frame.module)); });
  if (!needed) return;
  if (auto updated = Process(stack.pid)->Update(); !updated) {
    Warn("compiled code of process " + std::to_string(stack.pid) +
         " lacks names: " + updated.error().message);
  }
}

Symbolizer::Symbolizer(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Symbolizer::~Symbolizer() = default;

void Symbolizer::AddModule(model::ModuleId id, const model::Module& module) {
  if (impl_->modules.contains(id)) return;
  impl_->modules.emplace(id, impl_->MakeEntry(module));
}

void Symbolizer::Prepare(const model::RawStack& stack) {
  if (stack.kernel) {
    if (!stack.frames.empty()) (void)impl_->Kernel();
    return;
  }
  std::vector<SymbolFrame> frames;
  impl_->AppendUserFrames(stack, &frames);
}

std::vector<SymbolFrame> Symbolizer::Resolve(const model::RawStack& stack) {
  std::vector<SymbolFrame> frames;
  frames.reserve(stack.frames.size() + 1);
  if (stack.truncated) frames.push_back({FrameKind::kMarker, false, "[truncated stack]", ""});
  if (stack.kernel) {
    impl_->AppendKernelFrames(stack, &frames);
  } else {
    impl_->UpdatePerfMap(stack);
    impl_->AppendUserFrames(stack, &frames);
  }
  return frames;
}

std::vector<std::string> Symbolizer::Warnings() const {
  std::vector<std::string> warnings = impl_->warnings;
  for (std::string& warning : impl_->files.Warnings()) warnings.push_back(std::move(warning));
  return warnings;
}

}  // namespace offcpu::symbolize
