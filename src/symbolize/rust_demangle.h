// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace offcpu::symbolize {

// A Rust v0 name (RFC 2603), "_R...": paths, generic arguments and closures as in source, without
// crate hashes. Nothing when it is damaged, nests too deep, expands beyond a bound, or holds a kind
// of constant that is not an integer, bool or char.
std::optional<std::string> DemangleRustV0(std::string_view symbol);

// A legacy Rust name, "_ZN...17h<16 hex digits>E", without the hash. Nothing when it is not one.
std::optional<std::string> DemangleRustLegacy(std::string_view symbol);

}  // namespace offcpu::symbolize
