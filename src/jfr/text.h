// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "jfr/wire.h"

namespace offcpu::jfr {

// The largest text that is decoded; longer ones end in an ellipsis. The JVM's own names end at
// 64 KiB.
constexpr size_t kMaxTextBytes = 1U << 20;

// Whether `text` is UTF-8 as it stands, without surrogates or over-long forms.
bool IsUtf8(std::string_view text);

// Appends `text` as valid UTF-8: what can't be read becomes U+FFFD (async-profiler writes the names
// of threads and symbols as the system gave them). Nothing for null, empty and pooled text. At most
// `limit` bytes are decoded.
void DecodeText(const RawText& text, std::string* out, size_t limit = kMaxTextBytes);

}  // namespace offcpu::jfr
