// SPDX-License-Identifier: MIT
#include "unwind/copied_stacks.h"

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <list>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "symbolize/elf_file.h"
#include "symbolize/recorded_file.h"
#include "unwind/registers.h"

namespace offcpu::unwind {
namespace {

constexpr size_t kMostFrames = 512;
constexpr size_t kMostSpaces = 32;  // address spaces whose files are open at a time

// One walk, as libdwfl's callbacks see it.
struct Walk {
  model::Pid pid = 0;
  const process::ProcessTable* processes = nullptr;
  Registers registers;
  std::span<const std::byte> stack;
  std::vector<uint64_t> frames;
  bool left_code = false;
  bool read_failed = false;  // since the last frame
};

pid_t NextThread(Dwfl*, void* walk, void** thread) {
  if (*thread != nullptr) return 0;
  *thread = walk;
  return static_cast<Walk*>(walk)->pid;
}

bool GetThread(Dwfl*, pid_t, void* walk, void** thread) {
  *thread = walk;
  return true;
}

// Only the copy: what lay elsewhere at that time is not known. libdwfl takes a return address that
// can't be read for the end of the stack, so it is noted here.
bool ReadMemory(Dwfl*, Dwarf_Addr address, Dwarf_Word* value, void* argument) {
  Walk& walk = *static_cast<Walk*>(argument);
  const uint64_t at = address - walk.registers.stack_pointer();
  if (at > walk.stack.size() || walk.stack.size() - at < sizeof(*value)) {
    walk.read_failed = true;
    return false;
  }
  std::memcpy(value, walk.stack.data() + at, sizeof(*value));
  return true;
}

bool SetRegisters(Dwfl_Thread* thread, void* argument) {
  const Registers& registers = static_cast<Walk*>(argument)->registers;
  std::array<Dwarf_Word, Registers::kCount> words{};
  std::copy(registers.values.begin(), registers.values.end(), words.begin());
  if (!dwfl_thread_state_registers(thread, 0, words.size(), words.data())) return false;
  dwfl_thread_state_register_pc(thread, registers.pc);
  return true;
}

int TakeFrame(Dwfl_Frame* frame, void* argument) {
  Walk& walk = *static_cast<Walk*>(argument);
  Dwarf_Addr pc = 0;
  bool activation = false;
  walk.read_failed = false;  // the next frame's return address may be read from here on
  if (!dwfl_frame_pc(frame, &pc, &activation)) return DWARF_CB_ABORT;
  const uint64_t inside = activation ? pc : pc - 1;
  const bool leaf = walk.frames.empty();
  if (!leaf && walk.processes->FindRange(walk.pid, inside) == nullptr) {
    walk.left_code = true;
    return DWARF_CB_ABORT;
  }
  walk.frames.push_back(pc);
  return walk.frames.size() < kMostFrames ? DWARF_CB_OK : DWARF_CB_ABORT;
}

// Names come from elsewhere, and what unwinds is in the file itself.
int NoDebugFile(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*, GElf_Word,
                char**) {
  return -1;
}
int NoOtherElf(Dwfl_Module*, void**, const char*, Dwarf_Addr, char**, Elf**) { return -1; }

const Dwfl_Callbacks kFiles{NoOtherElf, NoDebugFile, dwfl_offline_section_address, nullptr};
const Dwfl_Thread_Callbacks kThreads{NextThread,   GetThread, ReadMemory,
                                     SetRegisters, nullptr,   nullptr};

struct EndDwfl {
  void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
};

// The mapped files of one process, as far as they were needed.
struct Space {
  std::unique_ptr<Dwfl, EndDwfl> dwfl{dwfl_begin(&kFiles)};
  uint64_t generation = 0;
  size_t ranges = 0;  // of the process, when it was looked at last
  std::set<std::pair<model::ModuleId, uint64_t>> reported;  // with how much higher it is mapped
  bool attached = false;
  std::list<model::Pid>::iterator use;
};

// How much higher a file's addresses are in the process.
std::optional<uint64_t> BiasOf(const UniqueFd& fd, const process::MappedRange& range) {
  UniqueFd copy(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy) return std::nullopt;
  const auto elf = symbolize::ElfFile::Open(std::move(copy));
  if (!elf) return std::nullopt;
  // A segment may begin inside its first page.
  for (const uint64_t inside : {uint64_t{0}, uint64_t{4095}}) {
    const auto address = elf->segments().AddressOf(range.file_offset + inside);
    if (address) return range.start + inside - *address;
  }
  return std::nullopt;
}

}  // namespace

struct CopiedStacks::Impl {
  const process::ProcessTable& processes;
  model::StackInterner& next;
  const symbolize::Options options;
  Walk walk;
  std::unordered_map<model::Pid, Space> spaces;
  std::list<model::Pid> used;  // the one used last first
  std::set<model::ModuleId> without_file;
  Counters counters;

  Space& SpaceOf(model::Pid pid);
  void Report(Space& space, const process::MappedRange& range);
  bool Ready(Space& space, model::Pid pid);
  bool WalkCopy(model::Pid pid, const model::UserCopy& copy);
};

Space& CopiedStacks::Impl::SpaceOf(model::Pid pid) {
  const uint64_t generation = processes.Generation(pid);
  if (const auto known = spaces.find(pid); known != spaces.end()) {
    used.splice(used.begin(), used, known->second.use);
    if (known->second.generation == generation) return known->second;
    used.pop_front();
    spaces.erase(known);
  }
  if (spaces.size() == kMostSpaces) {
    spaces.erase(used.back());
    used.pop_back();
  }
  Space& space = spaces[pid];
  space.generation = generation;
  used.push_front(pid);
  space.use = used.begin();
  return space;
}

void CopiedStacks::Impl::Report(Space& space, const process::MappedRange& range) {
  if (without_file.contains(range.module)) return;
  const model::Module& module = processes.module(range.module);
  auto fd = symbolize::OpenRecordedFile(options, module);
  const auto bias = fd ? BiasOf(*fd, range) : std::nullopt;
  if (!bias) {
    without_file.insert(range.module);
    return;
  }
  if (!space.reported.emplace(range.module, *bias).second) return;
  // Takes the descriptor over when it succeeds.
  if (dwfl_report_elf(space.dwfl.get(), module.path.c_str(), module.path.c_str(), fd->get(), *bias,
                      /*add_p_vaddr=*/true) != nullptr) {
    fd->Release();
  }
}

// What was mapped since the last walk is added. False when no file is known at all.
bool CopiedStacks::Impl::Ready(Space& space, model::Pid pid) {
  const auto ranges = processes.RangesOf(pid);
  if (ranges.size() != space.ranges) {
    space.ranges = ranges.size();
    dwfl_report_begin_add(space.dwfl.get());
    for (const process::MappedRange& range : ranges) Report(space, range);
    dwfl_report_end(space.dwfl.get(), nullptr, nullptr);
  }
  if (!space.attached && !space.reported.empty()) {
    space.attached = dwfl_attach_state(space.dwfl.get(), nullptr, pid, &kThreads, &walk);
  }
  return space.attached;
}

// Whether the walk came to the thread's first frame.
bool CopiedStacks::Impl::WalkCopy(model::Pid pid, const model::UserCopy& copy) {
  walk.frames.clear();
  const auto registers = RegistersOf(copy);
  if (!registers) return false;
  walk.pid = pid;
  walk.processes = &processes;
  walk.registers = *registers;
  walk.stack = copy.stack;
  walk.left_code = walk.read_failed = false;
  Space& space = SpaceOf(pid);
  const bool complete =
      Ready(space, pid) && dwfl_getthread_frames(space.dwfl.get(), pid, TakeFrame, &walk) == 0;
  if (walk.frames.empty()) walk.frames.push_back(registers->pc);
  return complete && !walk.left_code && !walk.read_failed;
}

CopiedStacks::CopiedStacks(const process::ProcessTable& processes, model::StackInterner& next,
                           symbolize::Options options)
    : impl_(new Impl{processes, next, std::move(options), {}, {}, {}, {}, {}}) {}

CopiedStacks::~CopiedStacks() = default;

model::StackIds CopiedStacks::Intern(model::Pid pid, const model::CallChain& chain) {
  if (!chain.copy.present()) return impl_->next.Intern(pid, chain);
  const bool complete = impl_->WalkCopy(pid, chain.copy);
  ++impl_->counters.walked;
  if (!complete) ++impl_->counters.ended_early;
  model::CallChain walked = chain;
  walked.user = impl_->walk.frames;
  walked.truncated = walked.truncated || !complete;
  return impl_->next.Intern(pid, walked);
}

const CopiedStacks::Counters& CopiedStacks::counters() const { return impl_->counters; }

}  // namespace offcpu::unwind
