// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/ids.h"

namespace offcpu::model {

// Position of a mapped file in the recorder's table; 0 is "no known mapping". A file is one module
// per process generation and device/inode/path, so that a replaced file is another module.
using ModuleId = uint32_t;

// A file that a process had mapped executable, as the kernel told it.
struct Module {
  Pid pid = 0;       // a process that has or had it mapped, in the recorder's pid namespace
  std::string path;  // in that process's mount namespace; "[vdso]", "//anon", "[heap]", "/memfd:x
                     // (deleted)"
  uint32_t device_major = 0;
  uint32_t device_minor = 0;
  uint64_t inode = 0;
  uint64_t map_start = 0;  // one range it was mapped at: names /proc/PID/map_files/START-END
  uint64_t map_end = 0;
  std::string build_id;  // raw bytes, of recordings that have it; empty: not known
};

// One return address or leaf instruction of a call chain. `offset` is the position in the module's
// file (address - start of the mapping + the mapping's file offset); meaningless without a module.
struct RawFrame {
  uint64_t address = 0;
  uint64_t offset = 0;
  ModuleId module = 0;
};

// A call chain after its user addresses were looked up in the process's mappings of that moment.
// Leaf first, as the kernel delivers it. All frames but the leaf are return addresses.
struct RawStack {
  StackId id = 0;
  Pid pid = 0;  // of the user part; 0 for kernel stacks
  bool kernel = false;
  bool truncated = false;  // frames towards the root are missing
  std::vector<RawFrame> frames;
};

enum class FrameKind : uint8_t {
  kKernel = 1,
  kUser = 2,
  kJit = 3,     // named by a perf map
  kMarker = 4,  // not code: stands for something that is missing, as in "[truncated stack]"
};

// A frame with its name: function without offset and module's file name.
struct SymbolFrame {
  FrameKind kind = FrameKind::kMarker;
  bool inlined = false;  // by the compiler into the next frame towards the root
  std::string name;
  std::string module;

  bool operator==(const SymbolFrame&) const = default;
};

}  // namespace offcpu::model
