// SPDX-License-Identifier: MIT
// Any bytes as scheduler events in text: by themselves and behind a line that makes them one, which
// the fuzzer need not find; events are delivered in time order. Built with
// clang++ -fsanitize=fuzzer,address,undefined.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tests/support/replayed_events.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  const std::string first = "a-7 [000] d..2 0.000001: sched_switch: a:7 [120] S ==> b:8 [120]\n";
  for (const std::string& text : {input, first + input}) {
    const auto replayed = offcpu::test::ReplayBytes(text);
    if (!replayed.events.in_order) std::abort();
  }
  return 0;
}
