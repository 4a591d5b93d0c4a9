// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/given_names.h"
#include "model/stack.h"

namespace offcpu::symbolize {

struct Options {
  bool inlines = true;         // expand inlined functions where DWARF has them
  std::string proc = "/proc";  // tests lay out their own
  std::string debug_directory = "/usr/lib/debug";

  // False: the stacks are from a recording. Then nothing is looked up of this machine's processes,
  // and files are those with the build-id that the recording names.
  bool live = true;
  std::string below;         // not live: where the files of the recording's machine lie; may be ""
  std::string kallsyms;      // not live: the recorded kernel's; "": kernel addresses stay
  bool same_host = false;    // not live: files without build-id are told by device and inode
  bool same_kernel = false;  // not live: the vdso is this kernel's
  std::shared_ptr<const std::string> kallsyms_text;  // where `kallsyms` is ""; null: none
  std::shared_ptr<const model::GivenNames> names;    // not live: frames that have names already
};

// Addresses to names. Used by one thread at a time. Prepare() is called soon after a stack was
// first seen, while its process still lives: it opens the files and caches their symbols. Resolve()
// is called at the end of the recording, answers from the caches, and reads perf maps anew when
// they grew. Nothing here fails: what can't be named keeps a name that says so.
class Symbolizer {
 public:
  explicit Symbolizer(Options options);
  ~Symbolizer();

  // Opens the module's file: through /proc/PID/root or map_files, else by path where device and
  // inode agree. Ids come in any order; a second call with the same id is ignored.
  void AddModule(model::ModuleId id, const model::Module& module);

  // Warms the caches for the stack's frames.
  void Prepare(const model::RawStack& stack);

  // Root first; an inlined function comes after (leafwards of) the function it was inlined into.
  // A kernel stack ends leafwards at who called the scheduler: the frames of the tracing machinery
  // and of the scheduler's own functions (KernelSymbols::IsSchedulerText) are cut, all but the last
  // frame there is. A truncated stack begins with the marker "[truncated stack]".
  std::vector<model::SymbolFrame> Resolve(const model::RawStack& stack);

  // Sentences for people, each at most once: hidden kernel addresses, unreadable files...
  std::vector<std::string> Warnings() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace offcpu::symbolize
