// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "source/bpf/bpf_source.h"
#include "source/bpf/load_module.h"

namespace offcpu::source::bpf {

std::vector<Check> CheckBpf() {
  std::vector<Check> checks;
  const auto module = LoadModule();
  checks.push_back(module ? Works("module", "bpf.so loads") : Lacks("module", module.error()));
  if (!module) return checks;
  Request request;
  auto source = BpfSource::Open(request);
  if (!source) {
    checks.push_back(Lacks("recording", source.error()));
    return checks;
  }
  Check check =
      Works("recording", fmt::format("the program loads; {} CPUs", (*source)->cpu_count()));
  if (!(*source)->warnings().empty()) {
    check.status = Check::Status::kLimited;
    check.remedy = fmt::format("{}", fmt::join((*source)->warnings(), "; "));
  }
  checks.push_back(std::move(check));
  return checks;
}

}  // namespace offcpu::source::bpf
