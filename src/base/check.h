// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <cstdlib>

// For promises the program makes to itself. Never for input, files or the kernel.
#define OFFCPU_CHECK(condition)                                                                    \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      std::fprintf(stderr, "offcpu: internal error: %s:%d: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                                \
    }                                                                                              \
  } while (false)
