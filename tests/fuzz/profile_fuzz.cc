// SPDX-License-Identifier: MIT
// Whatever parses as a profile is written again as the same bytes. Built with
// clang++ -fsanitize=fuzzer,address,undefined. Half of the inputs lack the header, so that the
// fuzzer need not find it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "profile/profile_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace std::string_literals;
  const std::string input(reinterpret_cast<const char*>(data), size);
  for (const std::string& bytes : {input, "OFFCPUPRF\0\1\0"s + input}) {
    const auto profile = offcpu::profile::ParseProfile(std::as_bytes(std::span(bytes)), "input");
    if (profile && offcpu::profile::SerializeProfile(*profile) != bytes) std::abort();
  }
  return 0;
}
