// SPDX-License-Identifier: MIT
#include "symbolize/kernel_symbols.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <tuple>

#include "base/parse.h"
#include "base/unique_fd.h"

namespace offcpu::symbolize {
namespace {

// No function is longer; where kallsyms has a gap, what is in it has no name.
constexpr uint64_t kMaxFunction = 256U << 10;
constexpr size_t kMaxLine = 4096;
constexpr size_t kMaxSymbols = 4U << 20;
constexpr size_t kMaxModules = 4096;

bool IsText(char type) { return type == 't' || type == 'T' || type == 'w' || type == 'W'; }

uint16_t RankOf(char type, std::string_view name) {
  const uint16_t binding = type == 'T' ? 0 : type == 't' ? 2 : 1;
  const size_t underscores = std::min(name.find_first_not_of('_'), size_t{15});
  return static_cast<uint16_t>(binding * 16 + underscores);
}

// Marks, not functions: where code ends, and the room before functions that is never executed.
bool IsEndOfText(std::string_view name) { return name == "_etext" || name == "_einittext"; }
bool IsPadding(std::string_view name) { return name.starts_with("__pfx_"); }

std::string_view TakeWord(std::string_view* text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  const auto begin = std::find_if_not(text->begin(), text->end(), is_blank);
  const auto end = std::find_if(begin, text->end(), is_blank);
  const std::string_view word(begin, end);
  text->remove_prefix(static_cast<size_t>(end - text->begin()));
  return word;
}

template <class Visit>
Result<void> ForEachLine(const std::string& path, Visit visit) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return SystemError("open " + path);
  std::vector<char> buffer(size_t{1} << 16);
  size_t filled = 0;
  while (true) {
    const ssize_t count = ::read(fd.get(), buffer.data() + filled, buffer.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return SystemError("read " + path);
    filled += static_cast<size_t>(count);
    std::string_view rest(buffer.data(), filled);
    for (size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      visit(rest.substr(0, end));
      rest.remove_prefix(end + 1);
    }
    if (count == 0) {
      if (!rest.empty()) visit(rest);
      return {};
    }
    if (rest.size() > kMaxLine) rest.remove_prefix(rest.size());
    filled = rest.size();
    std::memmove(buffer.data(), rest.data(), filled);
  }
}

}  // namespace

KernelSymbols::KernelSymbols() : names_(1, '\0'), modules_{"[kernel]"} {}

Result<KernelSymbols> KernelSymbols::Read(const std::string& path) {
  KernelSymbols symbols;
  auto read = ForEachLine(path, [&](std::string_view line) { symbols.AddLine(line); });
  if (!read) return read.error();
  if (symbols.hidden_) symbols.symbols_.clear();
  symbols.Sort();
  return symbols;
}

KernelSymbols KernelSymbols::Parse(std::string_view text) {
  KernelSymbols symbols;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    symbols.AddLine(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (symbols.hidden_) symbols.symbols_.clear();
  symbols.Sort();
  return symbols;
}

// "ffffffff81000000 T name", and "\t[module]" behind it.
void KernelSymbols::AddLine(std::string_view line) {
  uint64_t address = 0;
  if (!ParseNumber(TakeWord(&line), &address, 16)) return;
  const std::string_view type = TakeWord(&line);
  const std::string_view name = TakeWord(&line);
  if (type.size() != 1 || name.empty() || symbols_.size() == kMaxSymbols) return;
  if (address != 0) hidden_ = false;
  if (name == "__sched_text_start") sched_begin_ = address;
  if (name == "__sched_text_end") sched_end_ = address;
  if (!IsText(type[0]) || IsEndOfText(name)) {
    if (!symbols_.empty() && symbols_.back().name != 0) symbols_.push_back({address, 0, 0, 0xff});
    return;
  }
  if (IsPadding(name) || names_.size() + name.size() >= UINT32_MAX) return;
  symbols_.push_back({address, static_cast<uint32_t>(names_.size()), ModuleNumber(TakeWord(&line)),
                      RankOf(type[0], name)});
  names_.append(name).push_back('\0');
}

uint16_t KernelSymbols::ModuleNumber(std::string_view name) {
  if (name.empty()) return 0;
  // Lines of one module stand together.
  const auto found = std::find(modules_.rbegin(), modules_.rend(), name);
  if (found != modules_.rend()) return static_cast<uint16_t>(modules_.rend() - found - 1);
  if (modules_.size() == kMaxModules) return 0;
  modules_.emplace_back(name);
  return static_cast<uint16_t>(modules_.size() - 1);
}

void KernelSymbols::Sort() {
  std::sort(symbols_.begin(), symbols_.end(), [](const Symbol& a, const Symbol& b) {
    return std::tie(a.address, a.rank, a.name) < std::tie(b.address, b.rank, b.name);
  });
  const auto same_address = [](const Symbol& a, const Symbol& b) { return a.address == b.address; };
  symbols_.erase(std::unique(symbols_.begin(), symbols_.end(), same_address), symbols_.end());
  symbols_.shrink_to_fit();
  names_.shrink_to_fit();
}

KernelSymbols::Function KernelSymbols::Find(uint64_t address) const {
  const auto next =
      std::upper_bound(symbols_.begin(), symbols_.end(), address,
                       [](uint64_t value, const Symbol& symbol) { return value < symbol.address; });
  if (next == symbols_.begin()) return {};
  const Symbol& symbol = *(next - 1);
  if (symbol.name == 0 || address - symbol.address >= kMaxFunction) return {};
  return {names_.c_str() + symbol.name, modules_[symbol.module]};
}

size_t KernelSymbols::memory() const {
  return symbols_.capacity() * sizeof(Symbol) + names_.capacity();
}

size_t CountTracingFrames(const std::vector<model::SymbolFrame>& leaf_first) {
  constexpr std::array<std::string_view, 22> kTracing{
      "bpf_prog_",         "bpf_trace_run",      "bpf_get_stack",   "bpf_overflow_handler",
      "__bpf_trace_",      "__bpf_get_stack",    "bpf_trampoline_", "__traceiter_",
      "trace_event_",      "trace_call_bpf",     "perf_trace_",     "perf_tp_event",
      "perf_event_output", "__perf_event_",      "perf_callchain",  "get_perf_callchain",
      "perf_prepare_",     "perf_output_sample", "perf_swevent_",   "__trace_stack",
      "stack_trace_save",  "ftrace_stack_trace_"};
  const auto schedule =
      std::find_if(leaf_first.begin(), leaf_first.end(),
                   [](const model::SymbolFrame& frame) { return frame.name == "__schedule"; });
  if (schedule != leaf_first.end()) return static_cast<size_t>(schedule - leaf_first.begin());
  const auto first =
      std::find_if(leaf_first.begin(), leaf_first.end(), [&](const model::SymbolFrame& frame) {
        return std::none_of(kTracing.begin(), kTracing.end(), [&](std::string_view prefix) {
          return frame.name.starts_with(prefix);
        });
      });
  // A chain of nothing else says at least that much.
  return first == leaf_first.end() ? 0 : static_cast<size_t>(first - leaf_first.begin());
}

bool IsSchedulerName(std::string_view name) {
  for (const std::string_view beginning :
       {"__schedule", "schedule", "io_schedule", "preempt_schedule", "do_nanosleep"}) {
    if (name.starts_with(beginning)) return true;
  }
  return false;
}

}  // namespace offcpu::symbolize
