// SPDX-License-Identifier: MIT
#include "symbolize/running_kernel.h"

#include <elf.h>

#include <fstream>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "base/files.h"
#include "base/parse.h"

namespace offcpu::symbolize {

std::string RunningKernelBuildId(const std::string& notes) {
  const auto text = ReadSmallFile(notes);
  if (!text) return {};
  Bytes bytes(std::as_bytes(std::span(*text)));
  const auto padded = [](uint32_t size) { return (size_t{size} + 3) & ~size_t{3}; };
  while (bytes.remaining() >= sizeof(Elf64_Nhdr)) {
    const auto head = bytes.Read<Elf64_Nhdr>();
    const auto name = bytes.Take(padded(head.n_namesz));
    const auto value = bytes.Take(padded(head.n_descsz));
    if (!bytes.ok()) return {};
    const std::string_view owner(reinterpret_cast<const char*>(name.data()), name.size());
    if (head.n_type == NT_GNU_BUILD_ID && owner.starts_with("GNU")) {
      return {reinterpret_cast<const char*>(value.data()), head.n_descsz};
    }
  }
  return {};
}

std::optional<uint64_t> RunningKernelAddress(const std::string& symbol,
                                             const std::string& kallsyms) {
  // The first symbols are asked for, and writing the whole file takes the kernel a while.
  std::ifstream file(kallsyms);
  const std::string ending = " " + symbol;
  std::string line;
  while (std::getline(file, line)) {
    uint64_t address = 0;
    const std::string_view first = std::string_view(line).substr(0, line.find(' '));
    if (!line.ends_with(ending) || !ParseNumber(first, &address, 16)) continue;
    if (address == 0) return std::nullopt;
    return address;
  }
  return std::nullopt;
}

}  // namespace offcpu::symbolize
