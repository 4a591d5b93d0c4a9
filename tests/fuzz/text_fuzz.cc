// SPDX-License-Identifier: MIT
// Any bytes as scheduler events in text, by themselves and behind a line that is one. Built with
// clang++ -fsanitize=fuzzer,address,undefined.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tests/support/replayed_events.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  const std::string line = "a-7 [000] 0.0: sched_switch: a:7 [120] S ==> b:8 [120]\n";
  for (const std::string& text : {input, line + input}) {
    if (!offcpu::test::ReplayBytes(text).events.in_order) std::abort();
  }
  return 0;
}
