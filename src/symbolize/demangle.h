// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace offcpu::symbolize {

// A symbol as people know it: suffixes that compilers add to copies and parts of a function are cut
// (.cold, .isra.0, .llvm.123...), then Rust v0 names are taken by their prefix "_R", legacy Rust
// names by their ending 17h + 16 hex digits + E, and other "_Z" names as C++. Anything else, and
// any name that can't be read or would expand beyond reason, stays as it is.
std::string Demangle(std::string_view symbol);

// `symbol` without the suffixes above; never empty unless `symbol` is.
std::string_view CutCompilerSuffixes(std::string_view symbol);

}  // namespace offcpu::symbolize
