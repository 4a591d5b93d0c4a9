// SPDX-License-Identifier: MIT
#include "process/syscall_names.h"

#include <sys/syscall.h>

#include <algorithm>

namespace offcpu::process {
namespace {

struct Name {
  int number;
  std::string_view name;
};

constexpr Name kNames[] = {
#include "process/syscall_names.inc"
};

}  // namespace

std::string_view SyscallName(int number) {
  const auto* const found =
      std::find_if(std::begin(kNames), std::end(kNames),
                   [number](const Name& name) { return name.number == number; });
  return found == std::end(kNames) ? std::string_view() : found->name;
}

}  // namespace offcpu::process
