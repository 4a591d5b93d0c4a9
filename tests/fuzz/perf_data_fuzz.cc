// SPDX-License-Identifier: MIT
// Any bytes as a perf.data: read by themselves and behind a header of the pipe layout, which the
// fuzzer need not find; events are delivered in time order. Built with
// clang++ -fsanitize=fuzzer,address,undefined.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tests/support/replayed_events.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace std::string_literals;
  const std::string input(reinterpret_cast<const char*>(data), size);
  for (const std::string& bytes : {input, "PERFILE2\x10\0\0\0\0\0\0\0"s + input}) {
    const auto replayed = offcpu::test::ReplayBytes(bytes);
    if (!replayed.events.in_order) std::abort();
  }
  return 0;
}
