// SPDX-License-Identifier: MIT
// Any bytes as a trace.dat. Built with clang++ -fsanitize=fuzzer,address,undefined.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tests/support/replayed_events.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  if (!offcpu::test::ReplayBytes(input).events.in_order) std::abort();
  return 0;
}
