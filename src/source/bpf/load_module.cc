// SPDX-License-Identifier: MIT
#include "source/bpf/load_module.h"

#include <dlfcn.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <filesystem>

#include <fmt/format.h>

namespace offcpu::source::bpf {
namespace {

constexpr char kHint[] =
    "install the package with offcpu/bpf.so, or build with clang, bpftool and libbpf (not "
    "NO_BPF=1)";

}  // namespace

std::vector<std::string> ModuleCandidates() {
  std::vector<std::string> candidates = {OFFCPU_MODULE_DIR "/bpf.so"};
  if (::getauxval(AT_SECURE) != 0) return candidates;
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) candidates.insert(candidates.begin(), program.parent_path() / "bpf.so");
  return candidates;
}

Result<const offcpu_bpf_functions*> LoadModule(const std::vector<std::string>& candidates) {
  for (const std::string& path : candidates) {
    if (::access(path.c_str(), F_OK) != 0) continue;
    void* module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (module == nullptr) {
      const char* why = ::dlerror();
      return MakeError(ErrorCode::kUnsupported,
                       fmt::format("load {}: {}", path, why == nullptr ? "unknown error" : why),
                       "install libbpf");
    }
    const auto* functions =
        static_cast<const offcpu_bpf_functions*>(::dlsym(module, OFFCPU_BPF_SYMBOL));
    if (functions == nullptr || functions->version != OFFCPU_BPF_API_VERSION) {
      return MakeError(ErrorCode::kUnsupported,
                       fmt::format("load {}: it is of another version of offcpu", path),
                       "install offcpu and its BPF module of the same version");
    }
    return functions;
  }
  return MakeError(ErrorCode::kUnsupported,
                   fmt::format("the BPF module is not there ({})", fmt::join(candidates, ", ")),
                   kHint);
}

}  // namespace offcpu::source::bpf
