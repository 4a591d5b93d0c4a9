// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "source/bpf/module_api.h"

namespace offcpu::source::bpf {

// Where bpf.so may be: where it was installed, and beside the program (the build folder). Only the
// former when the program has more rights than its caller: whoever can link to it elsewhere must
// not have it load a file of his.
std::vector<std::string> ModuleCandidates();

// Loads the first that exists; it stays loaded. kUnsupported when there is none, or one of another
// version.
Result<const offcpu_bpf_functions*> LoadModule(
    const std::vector<std::string>& candidates = ModuleCandidates());

}  // namespace offcpu::source::bpf
